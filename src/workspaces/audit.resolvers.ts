import { v7 as uuidv7 } from "uuid";
import type { Context } from "../context.ts";
import type { EntityManager } from "../database/open.ts";
import { AuditEntry } from "./entities.ts";
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
    id: uuidv7(),
    workspace: workspaceId,
    tokenId,
    tokenName,
    createdAt: new Date(),
  });
}

export interface Page {
  first?: number | null | undefined;
  /** The id of the last entry of the page before. */
  after?: string | null | undefined;
}

const PAGE = 50;

/** A page of the audit log, the newest entries first. */
export async function auditLog(context: Context, { first, after }: Page): Promise<AuditEntry[]> {
  authorize(context, "admin");
  return context.em.find(AuditEntry, after ? { id: { $lt: after } } : {}, {
    orderBy: { id: "desc" },
    limit: first ?? PAGE,
  });
}
