import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { attacks, type Outcome, type Test } from "./attacks.ts";
import { takeBackups } from "./backups.ts";
import { fillDisk } from "./diskFull.ts";
import { killGateway } from "./kill.ts";
import { killPostgresql } from "./killPostgresql.ts";
import { brokenByOverload, overload } from "./overload.ts";
import { startPostgresql } from "./postgresql.ts";
import { cutPower, whyNoPowerCut } from "./powerCut.ts";
import { sendAgain } from "./retries.ts";
import { restartInTurn } from "./rollingRestart.ts";
import { type Slope, soak } from "./soak.ts";
import { isFaultless, type Verdict } from "./stored.ts";

// npm run torture -- NAME [CASES]: runs a fault test at length, and its control, which must find a loss. Prints a line of
// the table in docs/reliability.md for each; ends with 1 when the promise is broken or the control finds nothing.

const withFile = async <T>(run: (databaseUrl: string) => Promise<T>): Promise<T> => {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-torture-"));
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

const count = (n: number) => n.toLocaleString("en");
const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;

function told(verdict: Verdict & { acknowledged: number }, more = ""): Outcome {
  const { lost, doubled, faults, acknowledged } = verdict;
  const found = `${count(acknowledged)} acknowledged, ${lost.length} lost, ${doubled.length} doubled, ${faults.length} faults of the database`;
  return { result: `${found}${more}`, isAsWanted: isFaultless(verdict) };
}

function control(lost: number, cases: number): Outcome {
  return { result: `${count(lost)} lost in case ${cases}`, isAsWanted: lost > 0 };
}

const unlimited = fileURLToPath(new URL("./unlimited.ts", import.meta.url));
const MOST_OF_A_CONTROL = 50;

const killed =
  (within: typeof withFile) =>
  async (cycles: number): Promise<Outcome> => {
    const found = await within((databaseUrl) =>
      killGateway({ databaseUrl }, { cycles, longestLifeMs: 2_000 }),
    );
    const ready = [found.medianReadyMs, found.slowestReadyMs, found.cleanReadyMs].map(seconds);
    return told(
      found,
      `, ready again after ${ready[0]} (at most ${ready[1]}; after an orderly stop ${ready[2]})`,
    );
  };
const killedAndSpoilt = (within: typeof withFile) => async (): Promise<Outcome> => {
  const preload = "answerBeforeCommit";
  const found = await within((databaseUrl) =>
    killGateway({ databaseUrl, preload }, { cycles: MOST_OF_A_CONTROL }),
  );
  return control(found.lost.length, found.cycles);
};

const sentAgain =
  (within: typeof withFile) =>
  async (requests: number): Promise<Outcome> => {
    const found = await within((databaseUrl) => sendAgain({ databaseUrl }, { requests, keys: "with keys" }));
    return told({ ...found, acknowledged: found.requests }, `, ${count(found.cut)} connections cut`);
  };
const sentAgainWithoutKeys = (within: typeof withFile) => async (): Promise<Outcome> => {
  const requests = 1_000;
  const found = await within((databaseUrl) => sendAgain({ databaseUrl }, { requests, keys: "without keys" }));
  return { result: `${found.doubled.length} doubled`, isAsWanted: found.doubled.length > 0 };
};

/** What a test that finds no loss but something else broken says of a promise and of its control. */
const broken = (found: string[]) => (found.length === 0 ? "" : ` (${found.join(", ")})`);

async function overloaded(seconds: number, program?: string): Promise<{ result: string; found: string[] }> {
  const found = await withFile((databaseUrl) => overload({ databaseUrl, program }, { seconds }));
  const { capacity, goodput, overload: figures, recoveredS } = found;
  const said = [
    `of ${count(Math.round(capacity))}/s ${Math.round(goodput * 100)} % served under five times as many`,
    `${count(figures.refused)} refused with Retry-After (half of them within ${figures.refusedMs.p50} ms, 99 % within ${figures.refusedMs.p99} ms)`,
    `${count(figures.wrong + figures.unanswered)} failed or unanswered, ${count(figures.late)} later than 1 s`,
    `as before ${recoveredS} s after`,
    `p99 of half the load ${found.normalP99Ms} ms, with 2,000 idle connections ${found.withIdleP99Ms} ms`,
    `${found.idleConnectionKb.toFixed(1)} kB each`,
  ];
  return { result: said.join("; "), found: brokenByOverload(found) };
}

async function soaked(minutes: number, preload?: string): Promise<{ result: string; found: string[] }> {
  const found = await withFile((databaseUrl) =>
    soak({ databaseUrl: databaseUrl as `sqlite:${string}`, preload }, minutes),
  );
  const mb = ({ value, doubt }: Slope) => `${value.toFixed(1)} ± ${doubt.toFixed(1)} MB`;
  const { load, rss, heap, fds, mostWalMb, subscriptions } = found;
  const result = `${count(load.sent)} requests and ${count(subscriptions)} subscriptions, ${count(load.wrong + load.unanswered)} failed; in ten minutes memory grows by ${mb(rss)}, the heap by ${mb(heap)}; file descriptors ${fds.first}, at most ${fds.most}; WAL at most ${mostWalMb.toFixed(1)} MB`;
  return { result, found: found.broken };
}

const restarted = (signal: "SIGTERM" | "SIGKILL") => (restarts: number, gateways: number) =>
  (gateways > 1 ? withPostgresql : withFile)((databaseUrl) =>
    restartInTurn({ databaseUrl }, { gateways, restarts, signal }),
  );
const rolling = (gateways: number) => ({
  cases: 12,
  run: async (restarts: number): Promise<Outcome> => {
    const found = await restarted("SIGTERM")(restarts, gateways);
    const { failed, requests } = found;
    const { result, isAsWanted } = told(found, `, ${failed.length} of ${count(requests)} failed`);
    return { result: result + broken([...new Set(failed)]), isAsWanted: isAsWanted && failed.length === 0 };
  },
  control: async (): Promise<Outcome> => {
    const { failed } = await restarted("SIGKILL")(gateways, gateways);
    return { result: `${failed.length} failed`, isAsWanted: failed.length > 0 };
  },
});

const answered = (refused: number, wrong: string[]) =>
  `, ${count(refused)} answered 503 with Retry-After, ${wrong.length} otherwise`;

const tests: Record<string, Test> = {
  kill: { cases: 100, run: killed(withFile), control: killedAndSpoilt(withFile) },
  "kill-on-postgresql": { cases: 100, run: killed(withPostgresql), control: killedAndSpoilt(withPostgresql) },
  "kill-postgresql": {
    cases: 100,
    run: async (cycles) => {
      const found = await killPostgresql({}, { cycles });
      const back = `, served again ${seconds(found.slowestBackMs)} after the server at most`;
      const { result, isAsWanted } = told(found, answered(found.refused, found.wrongAnswers) + back);
      return { result, isAsWanted: isAsWanted && found.wrongAnswers.length === 0 };
    },
    control: async () => {
      const off = { synchronous_commit: "off" };
      const found = await killPostgresql(off, { cycles: MOST_OF_A_CONTROL });
      return control(found.lost.length, found.cycles);
    },
  },
  "power-cut": {
    cases: 100,
    run: async (cycles) => {
      const why = whyNoPowerCut();
      if (why) throw new Error(`The power cannot be cut here: ${why}.`);
      return told(await withFile((databaseUrl) => cutPower({ databaseUrl }, { cycles })));
    },
    control: async () => {
      const preload = "normalSync";
      const found = await withFile((databaseUrl) =>
        cutPower({ databaseUrl, preload }, { cycles: MOST_OF_A_CONTROL }),
      );
      return control(found.lost.length, found.cycles);
    },
  },
  "disk-full": {
    cases: 20,
    run: async (cycles) => {
      const found = await fillDisk({ cycles });
      const { result, isAsWanted } = told(found, answered(found.refused, found.wrongAnswers));
      const isServed = found.wrongAnswers.length === 0 && found.unread === 0;
      return { result: `${result}, ${found.unread} reads refused`, isAsWanted: isAsWanted && isServed };
    },
    // That the disk is full is what each case waits for: without refusals it would never end.
    control: async () => ({ result: "a case ends only once 64 writes were refused", isAsWanted: true }),
  },
  retries: { cases: 10_000, run: sentAgain(withFile), control: sentAgainWithoutKeys(withFile) },
  "retries-on-postgresql": {
    cases: 10_000,
    run: sentAgain(withPostgresql),
    control: sentAgainWithoutKeys(withPostgresql),
  },
  ...attacks({ withFile, withPostgresql }),
  overload: {
    cases: 60,
    run: async (seconds) => {
      const { result, found } = await overloaded(seconds);
      return { result: result + broken(found), isAsWanted: found.length === 0 };
    },
    control: async () => {
      const { result, found } = await overloaded(10, unlimited);
      return { result: result + broken(found), isAsWanted: found.length > 0 };
    },
  },
  "rolling-restart": rolling(3),
  "restart-on-sqlite": rolling(1),
  soak: {
    cases: 30,
    run: async (minutes) => {
      const { result, found } = await soaked(minutes);
      return { result: result + broken(found), isAsWanted: found.length === 0 };
    },
    control: async () => {
      const { result, found } = await soaked(1, "leak");
      return { result: result + broken(found), isAsWanted: found.includes("its heap grows") };
    },
  },
  backups: {
    cases: 12,
    run: async (backups) => {
      const found = await takeBackups({ backups, everyMs: 10_000 });
      const slowest = `, ${seconds(found.slowestBackupMs)} for a backup at most`;
      return told(
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

const [name = "", given] = process.argv.slice(2);
const test = tests[name];
if (!test) {
  process.stderr.write(`Name one of: ${Object.keys(tests).join(", ")}\n`);
  process.exit(1);
}
const cases = given ? Number(given) : test.cases;
for (const [of, run, at] of [
  [name, () => test.run(cases), cases],
  [`${name}, control`, () => test.control(), ""],
] as const) {
  const { result, isAsWanted } = await run();
  process.stdout.write(`| ${of} | ${at} | ${isAsWanted ? "" : "BROKEN: "}${result} |\n`);
  if (!isAsWanted) process.exitCode = 1;
}
