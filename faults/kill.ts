import { setTimeout as wait } from "node:timers/promises";
import { type How, prepareDatabase, startGateway } from "./gateway.ts";
import { isFaultless, judge, type Verdict } from "./ledgerCheck.ts";
import { newLedger, startWriters } from "./writers.ts";

export interface KillResult extends Verdict {
  cycles: number;
  acknowledged: number;
  /** Without an answer when it was killed. */
  unanswered: number;
  /** From the start of the process to its first answer: after an orderly stop, and after the kills. */
  cleanReadyMs: number;
  medianReadyMs: number;
  slowestReadyMs: number;
}

/**
 * Kills the gateway at random moments under writers, again and again on the same database, and holds the database
 * against all that was ever acknowledged each time it is back. Ends at the first fault.
 */
export async function killGateway(
  how: How,
  { cycles, longestLifeMs = 500 }: { cycles: number; longestLifeMs?: number },
): Promise<KillResult> {
  const ledger = newLedger();
  await prepareDatabase(how.databaseUrl);
  let gateway = await startGateway(how);
  const result: KillResult = {
    ...{ lost: [], doubled: [], faults: [], cycles: 0, acknowledged: 0, unanswered: 0 },
    cleanReadyMs: gateway.readyMs,
    ...{ medianReadyMs: 0, slowestReadyMs: 0 },
  };
  const readyMs: number[] = [];
  try {
    while (result.cycles < cycles && isFaultless(result)) {
      const before = ledger.acknowledged.size;
      const writers = startWriters(gateway.url, ledger);
      while (ledger.acknowledged.size === before) await wait(5);
      await wait(Math.random() * longestLifeMs);
      await gateway.kill();
      await writers.ended;
      gateway = await startGateway(how);
      result.cycles += 1;
      readyMs.push(gateway.readyMs);
      Object.assign(result, await judge(how.databaseUrl, ledger));
    }
  } finally {
    await gateway.kill();
  }
  return {
    ...result,
    acknowledged: ledger.acknowledged.size,
    unanswered: ledger.unanswered,
    medianReadyMs: readyMs.toSorted((a, b) => a - b)[Math.floor(readyMs.length / 2)]!,
    slowestReadyMs: Math.max(...readyMs),
  };
}
