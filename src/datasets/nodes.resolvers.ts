import { sql } from "kysely";
import type { Context } from "../context.ts";
import { lengthOf, readByLength } from "../database/lengths.ts";
import { createLoader } from "../database/loader.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { type DatasetHead, headColumns, type Row, rowDecoder } from "./resolvers.ts";

/** The dataset with that id, without its rows; null when the workspace has none. */
export const findDataset: (context: Context, id: string) => Promise<DatasetHead | null> = createLoader(
  async (context, all) => {
    const datasets = (ids: string[]) =>
      context.database.read
        .selectFrom("Dataset")
        .where("workspace", "=", authorize(context, "read"))
        .where("deletedAt", "is", null)
        .where("id", "in", ids);
    const heads = await readByLength(context, all, {
      measure: (ids) =>
        datasets(ids)
          .select(["id", sql<number>`${lengthOf("columns")} + ${lengthOf("removedColumns")}`.as("bytes")])
          .execute(),
      read: (ids) => datasets(ids).select(headColumns).execute(),
    });
    return all.map((id) => heads.get(id) ?? null);
  },
);

const rowColumns = ["id", "name", "key", "logId", "values", "idealOutput", "metadata", "createdAt"] as const;
const texts = ["name", "values", "idealOutput", "metadata"] as const;

/** The row with that id, of whichever dataset; null when the workspace has none. */
export const findDatasetRow: (context: Context, id: string) => Promise<Row | null> = createLoader(
  async (context, all) => {
    const withIds = (ids: string[]) =>
      context.database.read
        .selectFrom("DatasetRow")
        .where("workspace", "=", authorize(context, "read"))
        .where("id", "in", ids);
    const bytes = sql<number>`${sql.join(texts.map(lengthOf), sql` + `)}`;
    const rows = await readByLength(context, all, {
      measure: (ids) =>
        withIds(ids)
          .select(["id", bytes.as("bytes")])
          .execute(),
      read: (ids) =>
        withIds(ids)
          .select([...rowColumns, "dataset"])
          .execute(),
    });
    return Promise.all(
      all.map(async (id) => {
        const row = rows.get(id);
        const parent = row && (await findDataset(context, row.dataset));
        return parent ? rowDecoder(parent)(row) : null;
      }),
    );
  },
);
