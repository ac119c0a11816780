import { LRUCache } from "lru-cache";
import type { Access, Context } from "../context.ts";
import { refuseDuplicates, retryWhileLocked } from "../database/groupCommit.ts";
import { newId } from "../database/ids.ts";
import type { Database } from "../database/open.ts";
import { GabbroError, quoted } from "../errors.ts";
import { type Scope, scopes } from "../scopes.ts";
import { hashToken, isIntact } from "./tokens.ts";

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

type Found = Access & { tokenId: string; expiresAt: number; lastUsedAt: number; generation: string | null };

/**
 * Makes the check of one server: an `Authorization` header to what its token stands for, null when there is no header.
 * What it found is cached until anybody may have changed anything, such as revoked the token.
 */
export function createAuthenticate(database: Database, log: { warn(error: unknown, message: string): void }) {
  const tokens = new LRUCache<string, Found>({ max: 10_000 });
  return async (authorization: string | undefined): Promise<Access | null> => {
    if (authorization === undefined) return null;
    const token = bearerToken(authorization);
    if (!token) throw unauthenticated("The Authorization header must have the form: Bearer <token>.");
    // Headers arrive as Latin-1; a token with other characters was sent as the bytes of its UTF-8.
    const hash = hashToken(Buffer.from(token, "latin1").toString("utf8"));
    const generation = database.generation.now();
    const known = tokens.get(hash);
    const cached = known?.generation === generation ? known : undefined;
    const found = cached ?? (await findToken(database, hash, generation));
    if (!found || found.expiresAt <= Date.now()) throw unauthenticated(refusalOf(token));
    if (!cached) {
      tokens.set(hash, found);
      // Who cannot be noted down as served is served all the same, and does not wait for it.
      database.track(
        recordUse(database, found).catch((error) => log.warn(error, "cannot record a token's use")),
      );
    }
    return found;
  };
}

const SCHEME = "bearer ";

/** The token in an `Authorization` header. */
export function bearerToken(authorization = ""): string | undefined {
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME) return undefined;
  let [start, end] = [SCHEME.length, authorization.length];
  while (authorization[start] === " ") start += 1;
  // Not trim(): the last byte of a token in UTF-8 may be that of a space which is not ASCII.
  while (end > start && " \t".includes(authorization[end - 1]!)) end -= 1;
  return authorization.slice(start, end) || undefined;
}

function refusalOf(token: string): string {
  return isIntact(token)
    ? "This access token is unknown, expired or revoked. Make one with: gabbro token create --name NAME."
    : "This access token is mistyped: its checksum is wrong. Copy it again.";
}

async function findToken(
  database: Database,
  hash: string,
  generation: string | null,
): Promise<Found | undefined> {
  const row = await database.read
    .selectFrom("AccessToken")
    .select(["id", "name", "workspace", "scopes", "expiresAt", "revokedAt", "lastUsedAt"])
    .where("hash", "=", hash)
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

/** Notes when a token served, to the minute: more would be a write for every read. */
async function recordUse(database: Database, { tokenId, workspaceId, lastUsedAt }: Found): Promise<void> {
  if (Date.now() - lastUsedAt < LAST_USED_PRECISION_MS) return;
  await retryWhileLocked(() =>
    database.write
      .updateTable("AccessToken")
      .set({ lastUsedAt: new Date() })
      .where("workspace", "=", workspaceId)
      .where("id", "=", tokenId)
      .execute(),
  );
}

const UNLIMITED = Number.POSITIVE_INFINITY;

/** What the command line acts with: all scopes in one workspace, known in the audit log by that name. */
export function commandLineContext(database: Database, workspaceId: string): Context {
  const access = { tokenId: null, tokenName: "command line", workspaceId, scopes: [...scopes] };
  return {
    database,
    em: database.fork(workspaceId),
    access,
    reauthenticate: async () => access,
    deadline: { atMs: UNLIMITED },
    answerBudget: { maxBytes: UNLIMITED, leftBytes: UNLIMITED, leftFields: UNLIMITED },
  };
}

/** The id of the workspace with that name; an error that says how to make it when there is none. */
export async function getWorkspaceId(database: Database, name: string): Promise<string> {
  const row = await database.read
    .selectFrom("Workspace")
    .select("id")
    .where("name", "=", name)
    .executeTakeFirst();
  if (!row) {
    const message = `The workspace ${quoted(name)} does not exist. Make it with: gabbro workspace create ${name}`;
    throw new GabbroError("BAD_INPUT", message);
  }
  return row.id;
}

/** Makes a workspace and gives its id; CONFLICT when there is one of that name. */
export async function createWorkspace(database: Database, name: string): Promise<string> {
  const id = newId();
  await refuseDuplicates(`A workspace ${quoted(name)} exists already.`, () =>
    database.commit([["Workspace", { id, name, createdAt: new Date() }]]),
  );
  return id;
}

/** The names of all workspaces, the oldest first. */
export async function listWorkspaces(
  database: Database,
): Promise<{ id: string; name: string; createdAt: Date }[]> {
  return database.read.selectFrom("Workspace").select(["id", "name", "createdAt"]).orderBy("id").execute();
}
