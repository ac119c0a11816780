import type { Context } from "../context.ts";
import { jsonSize, SLOW_FRACTION } from "../limits/jsonSize.ts";
import { keepJson, writeJson } from "../limits/jsonText.ts";
import { runWithPauses } from "./pauses.ts";

/** What may take longer to write as JSON than 15 ms, as jsonSize counts. */
const MAX_WITHIN_TURN = 1024 * 1024;

/** Writes the long JSON of rows in turns of their workspace, before the transaction that stores them. */
export async function writeAhead(context: Context, workspaceId: string, rows: object[]): Promise<void> {
  for (const value of rows.flatMap((row) => Object.values(row) as unknown[]))
    if (isLong(value)) keepJson(value, await runWithPauses(context, workspaceId, writeJson(value)));
}

const isLong = (value: unknown): value is object =>
  typeof value === "object" &&
  value !== null &&
  jsonSize(value, MAX_WITHIN_TURN, { fraction: SLOW_FRACTION }) > MAX_WITHIN_TURN;
