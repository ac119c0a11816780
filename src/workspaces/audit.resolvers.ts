import type { Context } from "../context.ts";
import { newId } from "../database/ids.ts";
import type { EntityManager } from "../database/open.ts";
import { atCursor, PAGE } from "../paging.ts";
import { AuditEntry } from "./entities.ts";
import type { AuditLogInput } from "./inputs.ts";
import { authenticated, authorize } from "./resolvers.ts";

export interface Change {
  /** The operation's name. */
  action: string;
  /** What was changed, such as the slug of a prompt. */
  subject: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
}

/** Adds a line to the audit log, to be stored in the transaction of the change itself. Never give it a secret. */
export function recordChange(em: EntityManager, context: Context, change: Change): void {
  if (JSON.stringify(change.before) === JSON.stringify(change.after)) return; // nothing changed
  const { workspaceId, tokenId, tokenName } = authenticated(context);
  em.create(AuditEntry, {
    ...change,
    id: newId(),
    workspace: workspaceId,
    tokenId,
    tokenName,
    createdAt: new Date(),
  });
}

/** A page of the audit log, the newest entries first. */
export async function auditLog(context: Context, { first, after }: AuditLogInput): Promise<AuditEntry[]> {
  authorize(context, "admin");
  if (after != null) atCursor(await context.em.count(AuditEntry, { id: after }), "id of an entry");
  return context.em.find(AuditEntry, after ? { id: { $lt: after } } : {}, {
    orderBy: { id: "desc" },
    limit: first ?? PAGE,
  });
}
