import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import type { EntityManager } from "../database/open.ts";
import { inTransaction } from "../database/transaction.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { Log, logPayloadColumns } from "./entities.ts";
import type { ReportedSpan } from "./reported.ts";
import { storeSpans } from "./spanStore.resolvers.ts";
import { recountTraces, toSteps } from "./spans.resolvers.ts";
import type { SpanStep } from "./spanTraces.resolvers.ts";

/** What an import did with spans. */
export interface SpanCounts {
  added: number;
  /** Stored before, with other content, which was replaced. */
  changed: number;
  /** Stored before as they are. */
  unchanged: number;
}

/**
 * Stores spans of a file like `recordSpans`, but leaves alone those that are stored already, so that an import that is repeated
 * writes nothing. Logs of the past are no news: nobody who follows new logs is notified. A dry run only counts.
 */
export async function importSpans(
  context: Context,
  spans: ReportedSpan[],
  run: "real" | "dry",
): Promise<SpanCounts> {
  const workspaceId = authorize(context, "write");
  if (spans.length === 0) return { added: 0, changed: 0, unchanged: 0 };
  const steps = await toSteps(context, workspaceId, spans, "kept");
  let toRecount: string[] = [];
  const work = async (em: EntityManager) => {
    const stored = await readStored(em, steps);
    const isNew = ({ step }: SpanStep) => !stored.has(step.row.id);
    const changed = steps.filter((each) => !isNew(each) && !isStored(each, stored.get(each.step.row.id)!));
    const fresh = [...steps.filter(isNew), ...changed];
    if (run === "real" && fresh.length > 0)
      ({ toRecount } = await storeSpans({ context, em, workspaceId }, fresh));
    const added = fresh.length - changed.length;
    return { added, changed: changed.length, unchanged: spans.length - fresh.length };
  };
  if (run === "dry") return work(context.em.fork());
  const counts = await inTransaction(context.em, work, "locked rows");
  await recountTraces(context, toRecount, steps.length);
  return counts;
}

type StoredLog = Record<string, unknown>;

/** The stored logs of spans, by their ids. */
async function readStored(em: EntityManager, steps: SpanStep[]): Promise<Map<string, StoredLog>> {
  const ids = steps.map(({ step }) => step.row.id);
  const logs = await em
    .fork({ keepTransactionContext: true })
    .find(Log, { id: { $in: ids } }, { populate: [...logPayloadColumns] });
  return new Map(logs.map((log) => [log.id, { ...log }]));
}

/**
 * What follows from the rest, from the trace as a whole, from what is here now, such as the version in production, or is made
 * anew. A change of what the source reported shows in the attributes.
 */
const NOT_COMPARED = new Set([
  ...["id", "workspace", "trace", "createdAt", "searchId", "latencyMs"],
  ...["prompt", "version", "tag", "provider", "model"],
]);

function isStored({ step }: SpanStep, stored: StoredLog): boolean {
  return Object.entries(step.row).every(
    ([column, value]) => NOT_COMPARED.has(column) || isDeepStrictEqual(plain(value), plain(stored[column])),
  );
}

/** A value as a database gives it back: JSON has no undefined members, and times are compared as texts. */
const plain = (value: unknown): unknown =>
  typeof value === "object" && value !== null ? JSON.parse(JSON.stringify(value)) : (value ?? null);
