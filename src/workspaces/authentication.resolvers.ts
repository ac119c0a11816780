import { LRUCache } from "lru-cache";
import type { Access } from "../context.ts";
import { createRecordUse, LAST_USED_PRECISION_MS } from "../database/lastUses.ts";
import type { Database } from "../database/open.ts";
import { shareReads } from "../database/sharedReads.ts";
import { unauthenticated } from "./resolvers.ts";
import { hashToken, isIntact } from "./tokens.ts";

export type TokenAccess = Access & {
  tokenId: string;
  expiresAt: number;
  lastUsedAt: number;
  generation: string | null;
};

/**
 * Creates the authentication of one server, which returns the access of the token in an `Authorization` header; null when
 * there is no header. Results are cached until anything may have changed, such as a token that was revoked.
 */
export function createAuthenticate(database: Database, log: { warn(error: unknown, message: string): void }) {
  const tokens = new LRUCache<string, TokenAccess>({ max: 10_000 });
  const recordUse = createRecordUse(database, "AccessToken");
  const find = shareReads(async (hash, generation) => {
    const access = await findTokenAccess(database, ["hash", hash], generation);
    const nowMs = Date.now();
    if (!access || access.expiresAt <= nowMs) return access;
    tokens.set(hash, access);
    const { workspaceId, tokenId: id } = access;
    // In the background: it must not delay or fail the request.
    if (nowMs - access.lastUsedAt >= LAST_USED_PRECISION_MS)
      database.track(
        recordUse({ workspaceId, id }).catch((error) => log.warn(error, "cannot record a token's use")),
      );
    return access;
  });
  return async (authorization: string | undefined): Promise<Access | null> => {
    if (authorization === undefined) return null;
    const token = bearerToken(authorization);
    if (!token) throw unauthenticated("The Authorization header must have the form: Bearer <token>.");
    // Headers arrive as Latin-1; a token with other characters was sent as the bytes of its UTF-8.
    const hash = hashToken(Buffer.from(token, "latin1").toString("utf8"));
    const generation = database.generation.now();
    const entry = tokens.get(hash);
    const access = entry?.generation === generation ? entry : await find(hash, generation);
    if (!access || access.expiresAt <= Date.now()) throw unauthenticated(refusalOf(token));
    return access;
  };
}

const SCHEME = "bearer ";

/** The token in an `Authorization` header. */
export function bearerToken(authorization = ""): string | undefined {
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  let [start, end] = [SCHEME.length, authorization.length];
  while (authorization[start] === " ") start += 1;
  // Not trim(): as Latin-1, the last byte of a token in UTF-8 may be a non-ASCII space.
  while (end > start && " \t".includes(authorization[end - 1]!)) end -= 1;
  return authorization.slice(start, end) || undefined;
}

/** Why a token is refused, in words that help with one that was mistyped. */
export function refusalOf(token: string): string {
  return isIntact(token)
    ? "This access token is unknown, expired or revoked. Make one with: gabbro token create --name NAME."
    : "This access token is mistyped: its checksum is wrong. Copy it again.";
}

/** The access of a token that was not revoked, by the hash of its secret or by its id; it may have expired. */
export async function findTokenAccess(
  database: Database,
  [column, value]: [column: "hash" | "id", value: string],
  generation: string | null,
): Promise<TokenAccess | undefined> {
  const row = await database.read
    .selectFrom("AccessToken")
    .select(["id", "name", "workspace", "scopes", "expiresAt", "revokedAt", "lastUsedAt"])
    .where(column, "=", value)
    .executeTakeFirst();
  if (!row || row.revokedAt) return undefined;
  return {
    tokenId: row.id,
    tokenName: row.name,
    workspaceId: row.workspace,
    scopes: row.scopes,
    expiresAt: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
    lastUsedAt: row.lastUsedAt?.getTime() ?? 0,
    generation,
  };
}
