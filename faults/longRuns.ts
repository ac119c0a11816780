import { fileURLToPath } from "node:url";
import { count, type Outcome, type Test, toOutcome, type Within } from "./outcome.ts";
import { brokenByOverload, overload } from "./overload.ts";
import { restartInTurn } from "./rollingRestart.ts";
import { serveOnSlowDisk } from "./slowDisk.ts";
import { type Slope, soak } from "./soak.ts";

const unlimited = fileURLToPath(new URL("./unlimited.ts", import.meta.url));

/** What the gateway bears: more than it can do, restarts while it is used, and a long time. */
export function longRuns({ withFile, withPostgresql }: Record<"withFile" | "withPostgresql", Within>) {
  const tests: Record<string, Test> = {
    overload: {
      cases: 60,
      run: (seconds) => overloaded(withFile, seconds).then(isWhole),
      control: () => overloaded(withFile, 10, unlimited).then(finds(/./)),
    },
    "slow-disk": slowDisk(withFile),
    "slow-disk-on-postgresql": slowDisk(withPostgresql),
    "rolling-restart": restarts(withPostgresql, 3),
    "restart-on-sqlite": restarts(withFile, 1),
    soak: {
      cases: 30,
      run: (minutes) => soaked(withFile, minutes).then(isWhole),
      control: () => soaked(withFile, 1, "leak").then(finds(/its heap grows/)),
    },
  };
  return tests;
}

interface Found {
  result: string;
  broken: string[];
}

const described = ({ result, broken }: Found) =>
  result + (broken.length === 0 ? "" : ` (${broken.join(", ")})`);
const isWhole = (found: Found): Outcome => ({
  result: described(found),
  isAsWanted: found.broken.length === 0,
});
const finds =
  (wanted: RegExp) =>
  (found: Found): Outcome => ({ result: described(found), isAsWanted: wanted.test(found.broken.join()) });

async function overloaded(within: Within, seconds: number, program?: string): Promise<Found> {
  const found = await within((databaseUrl) => overload({ databaseUrl, program }, { seconds }));
  const { capacity, capacityAfter, goodput, quietGoodput, overload: figures, recoveredS } = found;
  const { quiet, newcomersMs } = figures;
  const said = [
    `of ${count(Math.round(capacity))}/s before and ${count(Math.round(capacityAfter))}/s after, ${Math.round(goodput * 100)} % served under five times as many`,
    `${count(figures.refused)} refused with Retry-After (half of them within ${figures.refusedMs.p50} ms, 99 % within ${figures.refusedMs.p99} ms)`,
    `${count(figures.wrong)} failed, ${count(figures.unanswered)} unanswered, ${count(figures.unsent)} not sent for want of a connection, ${count(figures.late)} later than 1 s`,
    Number.isFinite(quietGoodput)
      ? `by the ${quiet.seconds} s in which the machine did nothing else: ${Math.round(quietGoodput * 100)} % of ${count(Math.round(quiet.goodPerSecond / quietGoodput))}/s, half of the refusals within ${quiet.refusedMs.p50} ms, 99 % within ${quiet.refusedMs.p99} ms`
      : "the machine never was free for long enough to measure",
    `who was not connected before was answered within ${newcomersMs.p50} ms, 99 % within ${newcomersMs.p99} ms`,
    `as before ${recoveredS} s after`,
    `p99 of half the load ${found.withoutIdleP99Ms} ms, with 2,000 idle connections ${found.withIdleP99Ms} ms`,
    `${found.idleConnectionKb.toFixed(1)} kB each`,
  ];
  return { result: said.join("; "), broken: brokenByOverload(found) };
}

const FEW_IN_A_COMMIT = 6;

function slowDisk(within: Within): Test {
  return {
    cases: 20,
    run: (seconds) => slowed(within, seconds, "slowDisk").then(isWhole),
    control: () => slowed(within, 5, "manyTransactions").then(finds(/few share a commit/)),
  };
}

async function slowed(within: Within, seconds: number, preload: string): Promise<Found> {
  const found = await within((databaseUrl) =>
    serveOnSlowDisk({ databaseUrl, preload }, { seconds, commitMs: 20 }),
  );
  const { answeredPerSecond, writesPerCommit, failed } = found;
  return {
    result: `${count(Math.round(answeredPerSecond))} answered a second, ${writesPerCommit.toFixed(1)} writes a commit, ${count(failed)} failed or refused`,
    broken: [
      ...(writesPerCommit > FEW_IN_A_COMMIT ? [] : ["few share a commit"]),
      ...(failed > 0 ? ["it failed"] : []),
    ],
  };
}

async function soaked(within: Within, minutes: number, preload?: string): Promise<Found> {
  const found = await within((databaseUrl) =>
    soak({ databaseUrl: databaseUrl as `sqlite:${string}`, preload }, minutes),
  );
  const mb = ({ value, doubt }: Slope) => `${value.toFixed(1)} ± ${doubt.toFixed(1)} MB`;
  const { load, rss, heap, fds, maxWalMb, subscriptions, broken } = found;
  const result = `${count(load.sent)} requests and ${count(subscriptions)} subscriptions, ${count(load.wrong + load.unanswered)} failed, ${count(load.unsent)} not sent for want of a connection, ${count(load.late)} later than 5 s, ${count(load.refused)} refused with Retry-After; in ten minutes memory grows by ${mb(rss)}, the heap by ${mb(heap)}; file descriptors ${fds.first}, at most ${fds.max}; WAL at most ${maxWalMb.toFixed(1)} MB`;
  return { result, broken };
}

function restarts(within: Within, gateways: number): Test {
  const restarted = (signal: "SIGTERM" | "SIGKILL", times: number) =>
    within((databaseUrl) => restartInTurn({ databaseUrl }, { gateways, restarts: times, signal }));
  return {
    cases: 12,
    run: async (times) => {
      const found = await restarted("SIGTERM", times);
      const { failed, requests } = found;
      const { result, isAsWanted } = toOutcome(found, `, ${failed.length} of ${count(requests)} failed`);
      return {
        result: described({ result, broken: [...new Set(failed)] }),
        isAsWanted: isAsWanted && failed.length === 0,
      };
    },
    control: async () => {
      const { failed } = await restarted("SIGKILL", gateways);
      return { result: `${failed.length} failed`, isAsWanted: failed.length > 0 };
    },
  };
}
