import type { Context } from "../context.ts";
import { checkDeadline } from "../limits/deadline.ts";

/** The longest work between two turns of others. */
const MAX_WORK_MS = 10;

type Request = Pick<Context, "database" | "deadline">;

/** Tells long work when to pause, from now on. A pause throws TIMED_OUT once the request's time is up. */
export function createPauses(context: Request, workspaceId: string) {
  let sinceMs = performance.now();
  return {
    isDue: (): boolean => performance.now() - sinceMs > MAX_WORK_MS,
    take: async (): Promise<void> => {
      await context.database.turn(workspaceId);
      checkDeadline(context);
      sinceMs = performance.now();
    },
  };
}

/** Runs work that yields where it may pause. */
export async function runWithPauses<Result>(
  context: Request,
  workspaceId: string,
  work: Generator<unknown, Result>,
): Promise<Result> {
  const pause = createPauses(context, workspaceId);
  let step = work.next();
  while (!step.done) {
    if (pause.isDue()) await pause.take();
    step = work.next();
  }
  return step.value;
}

/** Runs the reads of one request one after another, with those of others in between where they take long. Each may fail alone. */
export function createPacedReads(context: Request, workspaceId: string) {
  const pause = createPauses(context, workspaceId);
  let last: Promise<unknown> | undefined;
  return <Result>(read: () => Promise<Result>): Promise<Result> => {
    const paced = async () => {
      if (pause.isDue()) await pause.take();
      return read();
    };
    const result = last ? last.then(paced) : read(); // most requests have one
    last = result.catch(() => {});
    return result;
  };
}
