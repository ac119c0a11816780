import type { Access, Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import type { Database } from "../database/open.ts";
import { refuseDuplicates } from "../database/retry.ts";
import { GabbroError, quoted } from "../errors.ts";
import { spendAnswerError } from "../limits/answerBudget.ts";
import { type Scope, scopes } from "../scopes.ts";

/** The id of the caller's workspace; UNAUTHENTICATED without a token, FORBIDDEN when it lacks the scope. */
export function authorize(context: Context, scope: Scope): string {
  const { scopes, workspaceId } = authenticated(context);
  if (scope === "write") context.mayWrite = true;
  if (scopes.includes(scope)) return workspaceId;
  spendAnswerError(context);
  throw new GabbroError("FORBIDDEN", `This access token lacks the scope "${scope}". Use one that has it.`);
}

/** The access of the caller; UNAUTHENTICATED when the request came without a token. */
export function authenticated({ access }: Context): Access {
  if (access) return access;
  throw unauthenticated("This needs an access token. Send the header Authorization: Bearer <token>.");
}

/** The error for an unknown caller. Its message must not help to guess tokens. */
export function unauthenticated(message: string): GabbroError {
  return new GabbroError("UNAUTHENTICATED", message, { headers: { "www-authenticate": "Bearer" } });
}

const UNLIMITED = Number.POSITIVE_INFINITY;

/** The context of the command line. */
export const commandLineContext = (database: Database, workspaceId: string): Context =>
  contextWithoutToken(database, workspaceId, "command line");

/** The context of work that needs no token: all scopes in one workspace, and a name for the audit log. */
export function contextWithoutToken(database: Database, workspaceId: string, tokenName: string): Context {
  const access = { tokenId: null, tokenName, workspaceId, scopes: [...scopes] };
  return {
    database,
    em: database.fork(workspaceId),
    access,
    reauthenticate: async () => access,
    deadline: { atMs: UNLIMITED },
    origin: () => "",
    answerBudget: { maxBytes: UNLIMITED, leftBytes: UNLIMITED, leftFields: UNLIMITED },
    retentionDays: null,
  };
}

/** The id of the workspace with that name; an error that says how to create it when there is none. */
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

/** Creates a workspace and returns its id; CONFLICT when there is one of that name. */
export async function createWorkspace(database: Database, name: string): Promise<string> {
  const id = newId();
  await refuseDuplicates(`A workspace ${quoted(name)} exists already.`, () =>
    database.commit([["Workspace", { id, name, createdAt: new Date() }]]),
  );
  return id;
}

/** All workspaces, the oldest first. */
export async function listWorkspaces(
  database: Database,
): Promise<{ id: string; name: string; createdAt: Date }[]> {
  return database.read.selectFrom("Workspace").select(["id", "name", "createdAt"]).orderBy("id").execute();
}
