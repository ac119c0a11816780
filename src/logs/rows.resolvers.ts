import type { Context } from "../context.ts";
import { createLoader } from "../database/loader.ts";
import { readInPieces } from "../database/pieces.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import { type LogRow, treeColumns } from "./entities.ts";

const columns = [
  ...["id", "trace", "type", "prompt", "promptSlug", "version", "tag", "model"],
  ...["startTime", "endTime", "latencyMs", "inputTokens", "outputTokens", "cost", "costSource"],
  ...treeColumns,
] as const;

const textColumns = [
  ...["promptSlug", "version", "tag", "model", "name", "externalId", "parentExternalId", "remoteParentId"],
  "responseId",
] as const;

type StoredRow = LogRow & { id: string };

/**
 * Logs without their payload as plain rows, in the order of their ids; null for those that the workspace does not have. Pages
 * that are asked for together are read together: a promise for each log takes as long as reading it.
 */
export const findLogRows = createLoader<string[], (LogRow | null)[]>(async (context, pages) => {
  const rows = await readLogRows(context, [...new Set(pages.flat())]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return pages.map((ids) => ids.map((id) => byId.get(id) ?? null));
});

async function readLogRows(context: Context, ids: string[]): Promise<LogRow[]> {
  const { workspaceId } = authenticated(context);
  const { database } = context;
  const query = database.read
    .selectFrom("Log")
    .select(columns.map((column) => `${column as "id"} as ${column as "id"}` as const))
    .where("workspace", "=", database.search.unestimated(workspaceId))
    .$castTo<StoredRow>();
  const rows = await readInPieces(context, workspaceId, {
    rows: ids,
    bytesOf: () => 0,
    read: async (some) => {
      const page = await database.rows(query.where("id", "in", some));
      spendLongTexts(context, page, textColumns);
      return page;
    },
  });
  return rows.map(toLogRow);
}

/** The bytes that each log counts have room for so many characters of each text. */
const SHORT_CHARACTERS = 64;
/** What V8 keeps for a character of a text with one beyond Latin-1. */
const BYTES_PER_CHARACTER = 2;

/** Takes what texts of rows have beyond 64 characters off the budget of the answer: 36 traces with ids of 1,024 ended a process. */
export function spendLongTexts<Column extends string>(
  context: Context,
  rows: { [Name in Column]?: unknown }[],
  columns: readonly Column[],
): void {
  let characters = 0;
  for (const row of rows)
    for (const column of columns) {
      const text = row[column];
      if (typeof text === "string" && text.length > SHORT_CHARACTERS)
        characters += text.length - SHORT_CHARACTERS;
    }
  if (characters > 0) spendAnswerBytes(context, BYTES_PER_CHARACTER * characters);
}

/** SQLite returns times as numbers. Converts in place: copies of 2,000 rows of 24 columns take as long as reading them. */
function toLogRow(row: StoredRow): LogRow {
  row.startTime = new Date(row.startTime);
  row.endTime = row.endTime && new Date(row.endTime);
  return row;
}
