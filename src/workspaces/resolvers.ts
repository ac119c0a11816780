import { LRUCache } from "lru-cache";
import { v7 as uuidv7 } from "uuid";
import type { Access, Context, Scope } from "../context.ts";
import { whenUnlocked } from "../database/commit.ts";
import type { Database } from "../database/open.ts";
import { badInput, GabbroError } from "../errors.ts";
import { generateToken, hashToken, isIntact } from "./tokens.ts";

const CACHE_MS = 30_000;
const LAST_USED_PRECISION_MS = 60_000;

/** The right of the caller to act: the id of the workspace, or an UNAUTHENTICATED or FORBIDDEN error. */
export function authorize(context: Context, scope: Scope): string {
  const { scopes, workspaceId } = authenticated(context);
  if (scopes.includes(scope)) return workspaceId;
  throw new GabbroError("FORBIDDEN", `This access token lacks the scope "${scope}". Use one that has it.`);
}

/** Who is asking; UNAUTHENTICATED when the request came without a token. */
export function authenticated({ access }: Context): Access {
  if (access) return access;
  throw unauthenticated("This needs an access token. Send the header Authorization: Bearer <token>.");
}

/** The error for whoever cannot be told apart: it names no reason that would help to guess tokens. */
export function unauthenticated(message: string): GabbroError {
  return new GabbroError("UNAUTHENTICATED", message, { headers: { "www-authenticate": "Bearer" } });
}

type Found = Access & { expiresAt: number; lastUsedAt: number };

/**
 * Makes the check of one server: an `Authorization` header to what its token stands for, null when there is no header.
 * What it found is remembered for 30 s, so a token revoked by another process works at most that much longer.
 */
export function createAuthenticate(database: Database, log: { warn(error: unknown, message: string): void }) {
  const known = new LRUCache<string, Found>({ max: 10_000, ttl: CACHE_MS });
  return async (authorization: string | undefined): Promise<Access | null> => {
    if (authorization === undefined) return null;
    const token = /^Bearer +(\S.*)$/i.exec(authorization)?.[1]?.trim();
    if (!token) throw unauthenticated("The Authorization header must have the form: Bearer <token>.");
    // Headers arrive as Latin-1; a token with other characters was sent as the bytes of its UTF-8.
    const hash = hashToken(Buffer.from(token, "latin1").toString("utf8"));
    const remembered = known.get(hash);
    const found = remembered ?? (isIntact(token) ? await findToken(database, hash) : undefined);
    if (!found || found.expiresAt <= Date.now()) {
      throw unauthenticated(
        "This access token is unknown, expired or revoked. Make one with: gabbro token create.",
      );
    }
    if (!remembered) {
      known.set(hash, found);
      // Who cannot be noted down as served is served all the same.
      await recordUse(database, found).catch((error) =>
        log.warn(error, "cannot record the use of an access token"),
      );
    }
    return found;
  };
}

async function findToken(database: Database, hash: string): Promise<Found | undefined> {
  const row = await database.read
    .selectFrom("AccessToken")
    .select(["id", "workspace", "scopes", "expiresAt", "revokedAt", "lastUsedAt"])
    .where("hash", "=", hash)
    .executeTakeFirst();
  if (!row || row.revokedAt) return undefined;
  return {
    tokenId: row.id,
    workspaceId: row.workspace,
    scopes: row.scopes,
    expiresAt: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
    lastUsedAt: row.lastUsedAt?.getTime() ?? 0,
  };
}

/** Notes when a token served, to the minute: more would be a write for every read. */
async function recordUse(database: Database, { tokenId, workspaceId, lastUsedAt }: Found): Promise<void> {
  if (Date.now() - lastUsedAt < LAST_USED_PRECISION_MS) return;
  await whenUnlocked(() =>
    database.write
      .updateTable("AccessToken")
      .set({ lastUsedAt: new Date() })
      .where("workspace", "=", workspaceId)
      .where("id", "=", tokenId)
      .execute(),
  );
}

/** The id of the workspace with that name; a BAD_INPUT error when there is none. */
export async function getWorkspaceId(database: Database, name: string): Promise<string> {
  const row = await database.read
    .selectFrom("Workspace")
    .select("id")
    .where("name", "=", name)
    .executeTakeFirst();
  if (!row) throw badInput([{ path: "workspace", message: `"${name}" does not exist` }]);
  return row.id;
}

export interface NewToken {
  workspaceId: string;
  name: string;
  scopes: Scope[];
  expiresAt: Date | null;
}

/** The row of a new token, to be stored with what else belongs to it, and the token itself: nobody can read it later. */
export function newToken(input: NewToken, token = generateToken()) {
  const row = {
    id: uuidv7(),
    workspace: input.workspaceId,
    name: input.name,
    hash: hashToken(token),
    scopes: input.scopes,
    createdAt: new Date(),
    expiresAt: input.expiresAt,
    revokedAt: null,
    lastUsedAt: null,
  };
  return { token, row };
}

/** Makes a token and returns it, with its id. */
export async function createToken(
  database: Database,
  input: NewToken,
): Promise<{ id: string; token: string }> {
  const { token, row } = newToken(input);
  await database.commit([["AccessToken", row]]);
  return { id: row.id, token };
}

/** The tokens of a workspace, the oldest first, without their secrets. */
export async function listTokens(database: Database, workspaceId: string) {
  return database.read
    .selectFrom("AccessToken")
    .select(["id", "name", "scopes", "createdAt", "expiresAt", "revokedAt", "lastUsedAt"])
    .where("workspace", "=", workspaceId)
    .orderBy("id")
    .execute();
}

/** Ends a token from now on; false when the workspace has no token with that id that still works. */
export async function revokeToken(
  database: Database,
  input: { workspaceId: string; id: string },
): Promise<boolean> {
  const { numUpdatedRows } = await whenUnlocked(() =>
    database.write
      .updateTable("AccessToken")
      .set({ revokedAt: new Date() })
      .where("workspace", "=", input.workspaceId)
      .where("id", "=", input.id)
      .where("revokedAt", "is", null)
      .executeTakeFirst(),
  );
  return numUpdatedRows > 0n;
}
