import type { Context } from "../context.ts";
import { parseStored } from "../limits/answerBudget.ts";
import { valuesDecoder } from "./columns.ts";
import type { StoredRow } from "./contents.resolvers.ts";
import type { DatasetHead, Row } from "./resolvers.ts";

/** Parses stored rows, whose values it takes off the budget of the answer. */
export function rowParser(context: Pick<Context, "answerBudget">, parent: DatasetHead) {
  const decode = valuesDecoder(parent);
  return (stored: StoredRow): { row: Row; omitted: string[] } => {
    const row = stored as unknown as Row; // no copy, as there may be very many rows
    if (parent.isPinned) row.asOf = parent.version!;
    if (stored.createdAt !== undefined) row.createdAt = new Date(stored.createdAt);
    if (stored.metadata) row.metadata = parseStored(context, stored.metadata);
    if (stored.values === undefined) return { row, omitted: [] };
    const { values, omitted } = decode(parseStored(context, stored.values));
    row.values = values;
    return { row, omitted };
  };
}
