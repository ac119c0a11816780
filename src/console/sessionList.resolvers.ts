import type { Context } from "../context.ts";
import { createFinder } from "../database/loader.ts";
import { idsInPage, inPage, type Page } from "../database/pages.ts";
import { inTransaction } from "../database/transaction.ts";
import { GabbroError, quoted } from "../errors.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { recordChange } from "../workspaces/audit.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { ConsoleSession } from "./entities.ts";
import { MAX_AGE_MS, MAX_IDLE_MS } from "./sessions.resolvers.ts";

/** Sessions that one statement looks through for those that go on: many may have ended with tokens that expired. */
const STEP_SESSIONS = 500;

/** A page of the sessions that go on, the oldest first. */
export async function consoleSessionPage(context: Context, page: Page): Promise<ConsoleSession[]> {
  const workspace = authorize(context, "admin");
  const [bound, upTo] = page.inverted ? (["before", "$gte"] as const) : (["after", "$lte"] as const);
  const sessions: ConsoleSession[] = [];
  for (let rest = page; ; ) {
    const end = await endOfStep(context, workspace, rest);
    const { where, options } = idsInPage(rest);
    const step = end === null ? {} : { id: { [upTo]: end } };
    sessions.push(...(await context.em.find(ConsoleSession, { $and: [where, step, goesOn()] }, options)));
    if (end === null || sessions.length === page.limit) return sessions;
    rest = { ...rest, [bound]: end, limit: page.limit - sessions.length };
    await context.database.turn(workspace);
    checkDeadline(context);
  }
}

/** The last session of a step, found in the index; null when all of the page are within it. */
async function endOfStep({ database }: Context, workspace: string, page: Page): Promise<string | null> {
  const ids = database.read.selectFrom("ConsoleSession").select("id").where("workspace", "=", workspace);
  const end = await inPage(ids, "id", { ...page, limit: 1 })
    .offset(STEP_SESSIONS - 1)
    .executeTakeFirst();
  return end?.id ?? null;
}

/** The session with that id; null when the workspace has none, or it has ended. */
export const findConsoleSession: (context: Context, id: string) => Promise<ConsoleSession | null> =
  createFinder(async (context, ids) => {
    authorize(context, "admin");
    return context.em.find(ConsoleSession, { $and: [{ id: { $in: ids } }, goesOn()] });
  });

/** Ends a session; SESSION_NOT_FOUND when the workspace has none with that id that goes on. */
export async function endConsoleSession(context: Context, { id }: { id: string }): Promise<{ id: string }> {
  authorize(context, "admin");
  return inTransaction(context.em, async (em) => {
    const session = await em.findOne(
      ConsoleSession,
      { $and: [{ id }, goesOn()] },
      { populate: ["token"], fields: ["createdAt", "token.name"] },
    );
    if (!session)
      throw new GabbroError(
        "SESSION_NOT_FOUND",
        `There is no session with the id ${quoted(id)} that goes on.`,
      );
    em.remove(session);
    recordChange(em, context, {
      action: "endConsoleSession",
      subject: id,
      before: { token: session.token.getProperty("name"), createdAt: session.createdAt },
      after: null,
    });
    return { id };
  });
}

/** When a session ends unless it is used before; its token may end earlier. */
export const endOf = ({ createdAt, lastUsedAt }: ConsoleSession): Date =>
  new Date(Math.min(createdAt.getTime() + MAX_AGE_MS, lastUsedAt.getTime() + MAX_IDLE_MS));

function goesOn() {
  const now = Date.now();
  return {
    createdAt: { $gt: new Date(now - MAX_AGE_MS) },
    lastUsedAt: { $gt: new Date(now - MAX_IDLE_MS) },
    token: { revokedAt: null, $or: [{ expiresAt: null }, { expiresAt: { $gt: new Date(now) } }] },
  };
}
