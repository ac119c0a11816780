import { Repeater } from "@graphql-yoga/subscription";
import type { Context } from "../context.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Log } from "./entities.ts";

/**
 * The logs that are added from now on, of one prompt or of all, each after its commit. It ends with the token's right to
 * read them, when the service closes, and when the listener falls too far behind.
 */
export function logAdded(context: Context, { slug }: { slug?: string | null | undefined }): Repeater<Log> {
  const workspaceId = authorize(context, "read");
  const { announcements } = context.database;
  const announced = announcements.listen(workspaceId);
  return new Repeater<Log>(async (push, stop) => {
    void stop.then(() => announced.return(undefined));
    for await (const { id, promptSlug } of announced) {
      if (slug != null && promptSlug !== null && slug !== promptSlug) continue;
      if (!(await mayStillRead(context))) break;
      await announcements.turn();
      // The one before holds every log that was sent, and all that was loaded for it.
      context.em = context.database.fork(workspaceId);
      const log = await context.em.findOne(Log, { id });
      if (log && (slug == null || slug === log.promptSlug)) await push(log);
    }
    stop();
  });
}

async function mayStillRead(context: Context): Promise<boolean> {
  try {
    return (await context.askAgain()) !== null; // a token's scopes never change
  } catch {
    return false; // the token works no more
  }
}
