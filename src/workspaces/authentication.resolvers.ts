import { LRUCache } from "lru-cache";
import type { Access } from "../context.ts";
import { createRecordUse, LAST_USED_PRECISION_MS } from "../database/lastUses.ts";
import type { Database } from "../database/open.ts";
import { createHashLookup } from "./hashLookup.ts";
import { unauthenticated } from "./resolvers.ts";
import { hashToken, isIntact } from "./tokens.ts";

export type TokenAccess = Access & {
  tokenId: string;
  expiresAt: number;
  lastUsedAt: number;
  generation: string | null;
};

/** Creates the authentication by token of one server. Results are cached until anything may have changed, such as a token that was revoked. */
export function createTokenAuthentication(
  database: Database,
  log: { warn(error: unknown, message: string): void },
) {
  const tokens = new LRUCache<string, TokenAccess>({ max: 10_000 });
  const hashOf = createHashOf();
  const recordUse = createRecordUse(database, "AccessToken");
  const find = createHashLookup("tokens", (hashes) =>
    findTokens(database, ["hash", hashes], database.generation.now()),
  );
  const findAndKeep = async (hash: string): Promise<TokenAccess | undefined> => {
    const access = await find(hash);
    if (access && access.expiresAt > Date.now()) tokens.set(hash, access);
    return access;
  };
  /** In the background: it must not delay or fail the request. */
  const recordUseOf = (access: TokenAccess, nowMs: number) => {
    if (nowMs - access.lastUsedAt < LAST_USED_PRECISION_MS) return;
    access.lastUsedAt = nowMs;
    const { workspaceId, tokenId: id } = access;
    database.track(
      recordUse({ workspaceId, id }).catch((error) => log.warn(error, "cannot record a token's use")),
    );
  };
  return {
    /** The access of the token in an `Authorization` header; null when there is no header. */
    authenticate: async (authorization: string | undefined): Promise<Access | null> => {
      if (authorization === undefined) return null;
      const token = bearerToken(authorization);
      if (!token) throw unauthenticated("The Authorization header must have the form: Bearer <token>.");
      const hash = hashOf(token);
      const entry = tokens.get(hash);
      const isCurrent = entry && entry.generation === database.generation.now();
      const access = isCurrent ? entry : await findAndKeep(hash);
      const nowMs = Date.now();
      if (access && access.expiresAt > nowMs) {
        recordUseOf(access, nowMs);
        return access;
      }
      tokens.delete(hash);
      throw unauthenticated(refusalOf(token));
    },
    /** The workspace of a token that was valid when it was last looked up; undefined for all others. */
    lastWorkspaceOf: (authorization: string): string | undefined => {
      const token = bearerToken(authorization);
      return token && tokens.peek(hashOf(token))?.workspaceId;
    },
  };
}

/** Hashes the token of requests in a row once: each asks for it twice, 8 of the 61 microseconds of describing a prompt. */
function createHashOf(): (token: string) => string {
  let last = { token: "", hash: "" };
  return (token) => {
    // Headers arrive as Latin-1; a token with other characters was sent as the bytes of its UTF-8.
    if (token !== last.token)
      last = { token, hash: hashToken(Buffer.from(token, "latin1").toString("utf8")) };
    return last.hash;
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
): Promise<TokenAccess | undefined> {
  return (await findTokens(database, [column, [value]], null)).get(value);
}

/** The same for several tokens. */
export async function findTokens(
  { read }: Database,
  [column, values]: [column: "hash" | "id", values: string[]],
  generation: string | null,
): Promise<Map<string, TokenAccess>> {
  const rows = await read
    .selectFrom("AccessToken")
    .select(["id", "name", "hash", "workspace", "scopes", "expiresAt", "revokedAt", "lastUsedAt"])
    .where(column, "in", values)
    .execute();
  const valid = rows.filter(({ revokedAt }) => revokedAt === null);
  const toAccess = (row: (typeof rows)[number]): TokenAccess => ({
    tokenId: row.id,
    tokenName: row.name,
    workspaceId: row.workspace,
    scopes: row.scopes,
    expiresAt: row.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY,
    lastUsedAt: row.lastUsedAt?.getTime() ?? 0,
    generation,
  });
  return new Map(valid.map((row) => [row[column], toAccess(row)]));
}
