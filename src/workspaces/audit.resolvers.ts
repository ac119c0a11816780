import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import { lengthOf, readByLength } from "../database/lengths.ts";
import { createFinder, createLoader } from "../database/loader.ts";
import type { EntityManager } from "../database/open.ts";
import { inPage, type Page } from "../database/pages.ts";
import { parseStored } from "../limits/answerBudget.ts";
import { AuditEntry } from "./entities.ts";
import { authenticated, authorize } from "./resolvers.ts";

export interface Change {
  /** The operation's name. */
  action: string;
  /** The changed entity, such as the slug of a prompt. */
  subject: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/**
 * Adds an entry to the audit log, in the transaction of the change, and returns whether anything changed. A change must not
 * contain a secret.
 */
export function recordChange(em: EntityManager, context: Context, change: Change): boolean {
  const { before, after } = change;
  if (before && after && JSON.stringify(before) === JSON.stringify(after)) return false;
  const { workspaceId, tokenId, tokenName } = authenticated(context);
  em.create(AuditEntry, {
    ...change,
    id: newId(),
    workspace: workspaceId,
    tokenId,
    tokenName,
    createdAt: new Date(),
  });
  return true;
}

export type AuditHead = Pick<AuditEntry, "id" | "tokenName" | "action" | "subject" | "createdAt">;

/** A page of the audit log, the newest entries first, without `before` and `after`. */
export async function auditLog(context: Context, page: Page): Promise<AuditHead[]> {
  return inPage(entriesOf(context), "id", page, "desc").execute();
}

/** The entry with that id, without `before` and `after`; null when the workspace has none. */
export const findAuditEntry: (context: Context, id: string) => Promise<AuditHead | null> = createFinder(
  (context, ids) => entriesOf(context).where("id", "in", ids).execute(),
);

const entriesOf = (context: Context) =>
  context.database.read
    .selectFrom("AuditEntry")
    .select(["id", "tokenName", "action", "subject", "createdAt"])
    .where("workspace", "=", authorize(context, "admin"));

interface Stored {
  id: string;
  /** JSON, and once it is parsed its value. */
  state: unknown;
}

/** Resolves the state before or after a change, which may be as large as a version of a prompt. */
export function stateOf(name: "before" | "after") {
  const load: (context: Context, id: string) => Promise<Record<string, unknown> | null> = createLoader(
    async (context, all) => {
      const entries = (ids: string[]) =>
        context.database.read
          .selectFrom("AuditEntry")
          .where("workspace", "=", authorize(context, "admin"))
          .where("id", "in", ids);
      const states = await readByLength(context, all, {
        measure: (ids) =>
          entries(ids)
            .select(["id", lengthOf(name).as("bytes")])
            .execute(),
        read: (ids) =>
          context.database.rows(
            entries(ids)
              .select(["id as id", `${name} as state`])
              .$castTo<Stored>(),
          ),
        parse: ({ id, state }) => ({
          id,
          state: state === null ? null : parseStored(context, state as string),
        }),
      });
      return all.map((id) => (states.get(id)?.state ?? null) as Record<string, unknown> | null);
    },
  );
  return ({ id }: AuditHead, _: unknown, context: Context) => load(context, id);
}
