import { setTimeout as wait } from "node:timers/promises";
import { prepareDatabase, startGateway } from "./gateway.ts";
import { isFaultless, judge, type Verdict } from "./ledgerCheck.ts";
import { startPostgresql } from "./postgresql.ts";
import { newLedger, startWriters } from "./writers.ts";

export interface KillPostgresqlResult extends Verdict {
  cycles: number;
  acknowledged: number;
  /** Answers while the server was away; each must be a 503 with Retry-After. */
  refused: number;
  wrongAnswers: string[];
  unanswered: number;
  /** From when the server was back to the next write that was acknowledged, at most. */
  slowestBackMs: number;
}

const MAX_LIFE_MS = 500;
const AWAY_MS = 300;
const MAX_WAIT_MS = 20_000;

/**
 * Kills the PostgreSQL server with all its processes at random moments under writers, again and again, while one gateway
 * goes on; holds the database against all that was ever acknowledged each time the server is back. Ends at the first fault.
 */
export async function killPostgresql(
  settings: Record<string, string>,
  { cycles }: { cycles: number },
): Promise<KillPostgresqlResult> {
  const ledger = newLedger();
  const result = { lost: [], doubled: [], faults: [], cycles: 0, slowestBackMs: 0 };
  const server = await startPostgresql(settings);
  try {
    await prepareDatabase(server.url);
    const gateway = await startGateway({ databaseUrl: server.url });
    try {
      while (result.cycles < cycles && isFaultless(result)) {
        const writers = startWriters(gateway.url, ledger, { isPatient: true });
        await moreThan(ledger.acknowledged.size, gateway);
        await wait(Math.random() * MAX_LIFE_MS);
        await server.kill();
        await wait(AWAY_MS);
        await server.start();
        const back = performance.now();
        await moreThan(ledger.acknowledged.size, gateway);
        result.slowestBackMs = Math.max(result.slowestBackMs, performance.now() - back);
        await writers.stop();
        result.cycles += 1;
        Object.assign(result, await judge(server.url, ledger));
      }
      if (gateway.child.exitCode !== null) throw new Error(`The gateway ended: ${gateway.said()}`);
    } finally {
      await gateway.kill();
    }
  } finally {
    await server.remove();
  }
  const wrong = ledger.refused.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null);
  return {
    ...result,
    acknowledged: ledger.acknowledged.size,
    refused: ledger.refused.length,
    wrongAnswers: [...new Set(wrong.map((answer) => JSON.stringify(answer)))],
    unanswered: ledger.unanswered,
  };

  async function moreThan(count: number, { said }: { said(): string }): Promise<void> {
    const untilMs = performance.now() + MAX_WAIT_MS;
    while (ledger.acknowledged.size <= count) {
      if (performance.now() > untilMs) {
        const last = JSON.stringify(ledger.refused.at(-1));
        throw new Error(
          `No write was acknowledged for ${MAX_WAIT_MS} ms; the last answer was ${last}. ${said()}`,
        );
      }
      await wait(5);
    }
  }
}
