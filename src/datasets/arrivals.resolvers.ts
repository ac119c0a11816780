import type { Context } from "../context.ts";
import { authorize } from "../workspaces/resolvers.ts";

/** The number of rows of datasets that were added at a time or later. */
export async function countRowsSince(context: Context, since: Date): Promise<number> {
  const workspace = authorize(context, "read");
  const { rows } = await context.database.read
    .selectFrom("DatasetRow")
    .select(({ fn }) => fn.countAll<number>().as("rows"))
    .where("workspace", "=", workspace)
    .where("dataset", "in", ({ selectFrom }) =>
      selectFrom("Dataset").select("id").where("workspace", "=", workspace),
    )
    .where("id", ">=", firstIdAt(since))
    .executeTakeFirstOrThrow();
  return Number(rows);
}

/** The least id of a row that was added at a time: a UUIDv7 begins with its milliseconds since 1970. */
function firstIdAt(time: Date): string {
  const ms = time.getTime().toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-000000000000`;
}
