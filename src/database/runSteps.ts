import { CompiledQuery, type Kysely } from "kysely";
import type { Steps } from "./dialect.ts";

/** Runs the statements that a generator yields in a transaction, one after another. */
export async function runStepsIn<Result>(
  transaction: Pick<Kysely<unknown>, "executeQuery">,
  steps: () => Steps<Result>,
): Promise<Result> {
  const running = steps();
  let step = running.next();
  while (!step.done) {
    const { statement, values } = step.value;
    const { rows } = await transaction.executeQuery<Record<string, unknown>>(
      CompiledQuery.raw(statement, values),
    );
    step = running.next(rows);
  }
  return step.value;
}
