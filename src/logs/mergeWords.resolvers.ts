import type { Context } from "../context.ts";
import type { Steps } from "../database/dialect.ts";
import { joinOf } from "../database/requestTransaction.ts";
import { retryWhileLocked } from "../database/retry.ts";
import { runStepsIn } from "../database/runSteps.ts";
import { inTransaction } from "../database/transaction.ts";

/** Runs each of some steps in a transaction: in that of a request with an `Idempotency-Key`, where there is one. */
export function createStepRunner({ database: { dialect, orm }, em }: Context) {
  return <Result>(steps: () => Steps<Result>): Promise<Result> =>
    joinOf(em)
      ? inTransaction(em, (nested) => runStepsIn(nested.getKysely(), steps))
      : retryWhileLocked(() => dialect.runSteps(orm, steps));
}

/**
 * Merges in pieces what removed logs leave in the index of words, up to `max` pieces or until `signal` aborts. Call it before
 * more logs are removed: commits of any request read at once what is left over.
 */
export async function mergeWords(
  context: Context,
  workspaceId: string,
  { max = Number.POSITIVE_INFINITY, signal }: { max?: number; signal?: AbortSignal | undefined },
): Promise<void> {
  const { dialect, turn } = context.database;
  const { mergeWords } = dialect;
  if (!mergeWords) return;
  const runStep = createStepRunner(context);
  for (let merged = 0; merged < max && !signal?.aborted && (await runStep(mergeWords)); merged++)
    await turn(workspaceId);
}
