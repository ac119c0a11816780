import { randomBytes } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { Access, Context } from "../context.ts";
import { deleteOlder } from "../database/deleteOlder.ts";
import { newId } from "../database/ids.ts";
import { createRecordUse, LAST_USED_PRECISION_MS } from "../database/lastUses.ts";
import type { Database, EntityManager } from "../database/open.ts";
import { inTransaction } from "../database/transaction.ts";
import { runShared } from "../limits/eventLoop.ts";
import {
  findTokenAccess,
  findTokens,
  refusalOf,
  type TokenAccess,
} from "../workspaces/authentication.resolvers.ts";
import { createHashLookup } from "../workspaces/hashLookup.ts";
import { unauthenticated } from "../workspaces/resolvers.ts";
import { hashToken } from "../workspaces/tokens.ts";
import { ConsoleSession, SignInLink } from "./entities.ts";
import type { SignInInput } from "./inputs.ts";
import { findSignInLink, LINK_MS, usedLink } from "./links.resolvers.ts";

const HOUR_MS = 60 * 60 * 1_000;
export const MAX_IDLE_MS = 12 * HOUR_MS;
export const MAX_AGE_MS = 7 * 24 * HOUR_MS;
const MAX_SESSIONS_OF_TOKEN = 100;
const SECRET_BYTES = 32;

/** Who is signed in, as the console shows it. */
export interface SignedIn {
  tokenId: string;
  tokenName: string;
  scopes: Access["scopes"];
  workspaceId: string;
  workspace: string;
}

type SessionAccess = TokenAccess & { sessionId: string; sessionUsedAt: number; sessionEndsAt: number };

/** Whether a request uses a session, or a subscription of an earlier request looks whether it goes on. */
export type SessionUse = "used" | "watched";

/**
 * Creates the authentication by session of one server: its access is that of the token that the session stands for.
 * Like tokens, sessions are cached until anything may have changed, such as a token that was revoked.
 */
export function createSessionAuthentication(
  database: Database,
  log: { warn(error: unknown, message: string): void },
) {
  const sessions = new LRUCache<string, SessionAccess>({ max: 10_000 });
  const recordSession = createRecordUse(database, "ConsoleSession");
  const recordToken = createRecordUse(database, "AccessToken");
  const recordUses = async ({ workspaceId, sessionId, tokenId, lastUsedAt }: SessionAccess) => {
    await recordSession({ workspaceId, id: sessionId });
    if (Date.now() - lastUsedAt >= LAST_USED_PRECISION_MS) await recordToken({ workspaceId, id: tokenId });
  };
  const lookup = createHashLookup("sessions", (hashes) =>
    findSessions(database, hashes, database.generation.now()),
  );
  const find = async (hash: string) => {
    const access = await lookup(hash);
    if (access && !hasEnded(access)) sessions.set(hash, access);
    else sessions.delete(hash);
    return access;
  };
  const authenticate = async (secret: string, use: SessionUse, shownWorkspace?: unknown): Promise<Access> => {
    const hash = hashToken(secret);
    const entry = sessions.get(hash);
    const isCurrent = entry?.generation === database.generation.now() && !hasEnded(entry);
    const access = isCurrent ? entry : await find(hash);
    if (!access || hasEnded(access)) throw unauthenticated("This session has ended. Sign in again.");
    if (shownWorkspace !== undefined && shownWorkspace !== access.workspaceId)
      throw unauthenticated(
        "Another tab of this browser has signed in to another workspace. Reload the page.",
      );
    const nowMs = Date.now();
    if (use === "used" && nowMs - access.sessionUsedAt >= LAST_USED_PRECISION_MS) {
      // In the background: it must not delay or fail the request.
      database.track(recordUses(access).catch((error) => log.warn(error, "cannot record a session's use")));
      access.sessionUsedAt = nowMs;
    }
    return access;
  };
  return {
    /** The access of a session, which must be in `shownWorkspace` where a page says which one it shows. */
    authenticate,
    /** The workspace of a session that had not ended when it was last looked up; undefined for all others. */
    lastWorkspaceOf: (secret: string) => sessions.peek(hashToken(secret))?.workspaceId,
  };
}

/** Signs a browser in by a token or by the code of a link. The secret of the new session is returned only now. */
export async function signIn(database: Database, input: SignInInput): Promise<string> {
  const link = "code" in input ? await findSignInLink(database, input.code) : null;
  const by = "token" in input ? (["hash", hashToken(input.token)] as const) : (["id", link!.token] as const);
  const access = await findTokenAccess(database, [...by]);
  if (!access || access.expiresAt <= Date.now())
    throw "token" in input ? unauthenticated(refusalOf(input.token)) : usedLink();
  const secret = randomBytes(SECRET_BYTES).toString("base64url");
  // As all that its workspace writes: else everybody who signs in would wait in one line.
  const store = (run: (em: EntityManager) => Promise<void>) =>
    runShared(access.workspaceId, () => inTransaction(database.fork(access.workspaceId), run));
  await store(async (em) => {
    if (link && (await em.nativeDelete(SignInLink, { hash: link.hash })) === 0) throw usedLink();
    await endOldest(em, access.tokenId);
    const now = new Date();
    const { tokenId: token, workspaceId: workspace } = access;
    const row = { id: newId(), workspace, token, hash: hashToken(secret), createdAt: now, lastUsedAt: now };
    em.create(ConsoleSession, row);
  });
  return secret;
}

/** Ends a session; nothing happens when it has ended before. */
export async function signOut({ em }: Context, secret: string): Promise<void> {
  await inTransaction(em, async (own) => {
    await own.nativeDelete(ConsoleSession, { hash: hashToken(secret) });
  });
}

export async function describeSession({ database }: Context, access: Access): Promise<SignedIn> {
  const { name } = await database.read
    .selectFrom("Workspace")
    .select("name")
    .where("id", "=", access.workspaceId)
    .executeTakeFirstOrThrow();
  const { tokenName, scopes, workspaceId } = access;
  return { tokenId: access.tokenId!, tokenName, scopes, workspaceId, workspace: name };
}

/** Deletes sessions that have ended and links that have expired. */
export async function deleteEndedSessions(database: Database, signal: AbortSignal): Promise<void> {
  await deleteOlder(database, { table: "ConsoleSession", maxAgeMs: MAX_AGE_MS }, signal);
  await deleteOlder(
    database,
    { table: "ConsoleSession", since: "lastUsedAt", maxAgeMs: MAX_IDLE_MS },
    signal,
  );
  await deleteOlder(database, { table: "SignInLink", maxAgeMs: LINK_MS }, signal);
}

/** Makes room for one more session of a token. */
async function endOldest(em: EntityManager, token: string): Promise<void> {
  const surplus = await em.find(
    ConsoleSession,
    { token },
    { fields: ["id"], orderBy: { id: "desc" }, offset: MAX_SESSIONS_OF_TOKEN - 1, limit: 100 },
  );
  if (surplus.length > 0) await em.nativeDelete(ConsoleSession, { id: { $in: surplus.map(({ id }) => id) } });
}

async function findSessions(
  database: Database,
  hashes: string[],
  generation: string | null,
): Promise<Map<string, SessionAccess>> {
  const rows = await database.read
    .selectFrom("ConsoleSession")
    .select(["id", "hash", "token", "createdAt", "lastUsedAt"])
    .where("hash", "in", hashes)
    .execute();
  if (rows.length === 0) return new Map();
  const tokens = await findTokens(database, ["id", [...new Set(rows.map(({ token }) => token))]], generation);
  const found = rows.flatMap(({ id, hash, token, createdAt, lastUsedAt }) => {
    const access = tokens.get(token);
    if (!access) return [];
    const times = { sessionUsedAt: lastUsedAt.getTime(), sessionEndsAt: createdAt.getTime() + MAX_AGE_MS };
    return [[hash, { ...access, sessionId: id, ...times }] as const];
  });
  return new Map(found);
}

function hasEnded({ expiresAt, sessionUsedAt, sessionEndsAt }: SessionAccess): boolean {
  return Math.min(expiresAt, sessionEndsAt, sessionUsedAt + MAX_IDLE_MS) <= Date.now();
}
