import type { Context } from "../context.ts";
import { isSlowToWrite } from "../limits/jsonSize.ts";
import { keepJson, writeJson } from "../limits/jsonText.ts";
import { runWithPauses } from "./pauses.ts";

/** Writes the JSON of rows that takes long in turns of their workspace, before the transaction that stores them. */
export async function writeAhead(context: Context, workspaceId: string, rows: object[]): Promise<void> {
  for (const value of rows.flatMap((row) => Object.values(row) as unknown[]))
    if (isSlowToWrite(value)) keepJson(value, await runWithPauses(context, workspaceId, writeJson(value)));
}
