import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { attacks } from "./attacks.ts";
import { takeBackups } from "./backups.ts";
import { fillDisk } from "./diskFull.ts";
import { killGateway } from "./kill.ts";
import { killExporters } from "./killExporters.ts";
import { killPostgresql } from "./killPostgresql.ts";
import { longRuns } from "./longRuns.ts";
import { count, type Outcome, seconds, type Test, toOutcome } from "./outcome.ts";
import { startPostgresql } from "./postgresql.ts";
import { cutPower, whyNoPowerCut } from "./powerCut.ts";
import { sendAgain } from "./retries.ts";
import { stalls } from "./stalls.ts";
import { storedStalls } from "./storedStalls.ts";

// npm run faults -- NAME [CASES [SEED]]: runs a fault test at length, and its control, which must find a loss. Prints a line of
// the table in docs/internals/fault-runs.md for each; ends with 1 when the promise is broken or the control finds nothing.

const withFile = async <T>(run: (databaseUrl: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-faults-"));
  try {
    return await run(`sqlite:${join(folder, "gabbro.sqlite")}`);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

const withPostgresql = async <T>(run: (databaseUrl: string) => Promise<T>): Promise<T> => {
  const server = await startPostgresql();
  try {
    return await run(server.url);
  } finally {
    await server.remove();
  }
};

function control(lost: number, cases: number): Outcome {
  return { result: `${count(lost)} lost in case ${cases}`, isAsWanted: lost > 0 };
}

const MAX_CONTROL_CYCLES = 50;

const killed =
  (within: typeof withFile) =>
  async (cycles: number): Promise<Outcome> => {
    const found = await within((databaseUrl) =>
      killGateway({ databaseUrl }, { cycles, longestLifeMs: 2_000 }),
    );
    const ready = [found.medianReadyMs, found.slowestReadyMs, found.cleanReadyMs].map(seconds);
    return toOutcome(
      found,
      `, ready again after ${ready[0]} (at most ${ready[1]}; after an orderly stop ${ready[2]})`,
    );
  };
const killedAndSpoilt = (within: typeof withFile) => async (): Promise<Outcome> => {
  const preload = "answerBeforeCommit";
  const found = await within((databaseUrl) =>
    killGateway({ databaseUrl, preload }, { cycles: MAX_CONTROL_CYCLES }),
  );
  return control(found.lost.length, found.cycles);
};

const exported =
  (within: typeof withFile) =>
  async (cycles: number): Promise<Outcome> => {
    const found = await within((databaseUrl) =>
      killExporters({ databaseUrl }, { cycles, longestLifeMs: 2_000 }),
    );
    return toOutcome(found, `, ${count(found.repeated)} exports repeated after the exporter gave up`);
  };
const exportedAndSpoilt = (within: typeof withFile) => async (): Promise<Outcome> => {
  const preload = "answerBeforeCommit";
  const found = await within((databaseUrl) =>
    killExporters({ databaseUrl, preload }, { cycles: MAX_CONTROL_CYCLES }),
  );
  return control(found.lost.length, found.cycles);
};

const sentAgain =
  (within: typeof withFile) =>
  async (requests: number): Promise<Outcome> => {
    const found = await within((databaseUrl) => sendAgain({ databaseUrl }, { requests, keys: "with keys" }));
    return toOutcome({ ...found, acknowledged: found.requests }, `, ${count(found.cut)} connections cut`);
  };
const sentAgainWithoutKeys = (within: typeof withFile) => async (): Promise<Outcome> => {
  const requests = 1_000;
  const found = await within((databaseUrl) => sendAgain({ databaseUrl }, { requests, keys: "without keys" }));
  return { result: `${found.doubled.length} doubled`, isAsWanted: found.doubled.length > 0 };
};

const answered = (refused: number, wrong: string[]) =>
  `, ${count(refused)} answered 503 with Retry-After, ${wrong.length} otherwise`;

const tests: Record<string, Test> = {
  kill: { cases: 100, run: killed(withFile), control: killedAndSpoilt(withFile) },
  "kill-on-postgresql": { cases: 100, run: killed(withPostgresql), control: killedAndSpoilt(withPostgresql) },
  "kill-exporters": { cases: 100, run: exported(withFile), control: exportedAndSpoilt(withFile) },
  "kill-exporters-on-postgresql": {
    cases: 100,
    run: exported(withPostgresql),
    control: exportedAndSpoilt(withPostgresql),
  },
  "kill-postgresql": {
    cases: 100,
    run: async (cycles) => {
      const found = await killPostgresql({}, { cycles });
      const back = `, served again ${seconds(found.slowestBackMs)} after the server at most`;
      const { result, isAsWanted } = toOutcome(found, answered(found.refused, found.wrongAnswers) + back);
      return { result, isAsWanted: isAsWanted && found.wrongAnswers.length === 0 };
    },
    control: async () => {
      const off = { synchronous_commit: "off" };
      const found = await killPostgresql(off, { cycles: MAX_CONTROL_CYCLES });
      return control(found.lost.length, found.cycles);
    },
  },
  "power-cut": {
    cases: 100,
    run: async (cycles) => {
      const why = whyNoPowerCut();
      if (why) throw new Error(`The power cannot be cut here: ${why}.`);
      return toOutcome(await withFile((databaseUrl) => cutPower({ databaseUrl }, { cycles })));
    },
    control: async () => {
      const preload = "normalSync";
      const found = await withFile((databaseUrl) =>
        cutPower({ databaseUrl, preload }, { cycles: MAX_CONTROL_CYCLES }),
      );
      return control(found.lost.length, found.cycles);
    },
  },
  "disk-full": {
    cases: 20,
    run: async (cycles) => {
      const found = await fillDisk({ cycles });
      const { result, isAsWanted } = toOutcome(found, answered(found.refused, found.wrongAnswers));
      const isServed = found.wrongAnswers.length === 0 && found.unread === 0 && found.refused > 0;
      return { result: `${result}, ${found.unread} reads refused`, isAsWanted: isAsWanted && isServed };
    },
    control: async () => {
      const found = await fillDisk({ cycles: MAX_CONTROL_CYCLES, preload: "answerBeforeCommit" });
      return control(found.lost.length, found.cycles);
    },
  },
  retries: { cases: 10_000, run: sentAgain(withFile), control: sentAgainWithoutKeys(withFile) },
  "retries-on-postgresql": {
    cases: 10_000,
    run: sentAgain(withPostgresql),
    control: sentAgainWithoutKeys(withPostgresql),
  },
  ...attacks({ withFile, withPostgresql }),
  ...stalls({ withFile, withPostgresql }),
  ...storedStalls({ withFile, withPostgresql }),
  ...longRuns({ withFile, withPostgresql }),
  backups: {
    cases: 12,
    run: async (backups) => {
      const found = await takeBackups({ backups, everyMs: 10_000 });
      const slowest = `, ${seconds(found.slowestBackupMs)} for a backup at most`;
      return toOutcome(
        found,
        `${slowest}; plain copies of the file at the same moments lacked ${found.missingInCopies}`,
      );
    },
    control: async () => {
      const { missingInCopies, backups } = await takeBackups({ backups: 2, everyMs: 2_000 });
      return control(missingInCopies, backups);
    },
  },
};

const [name = "", given, seed] = process.argv.slice(2);
const test = tests[name];
if (!test) {
  process.stderr.write(`Name one of: ${Object.keys(tests).join(", ")}\n`);
  process.exit(1);
}
const cases = given ? Number(given) : test.cases;
for (const [of, run, at] of [
  [name, () => test.run(cases, seed ? Number(seed) : undefined), cases],
  [`${name}, control`, () => test.control(), ""],
] as const) {
  const { result, isAsWanted } = await run();
  process.stdout.write(`| ${of} | ${at} | ${isAsWanted ? "" : "BROKEN: "}${result} |\n`);
  if (!isAsWanted) process.exitCode = 1;
}
