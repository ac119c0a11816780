import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { json, timestamp } from "../database/columnTypes.ts";
import { Workspace } from "../workspaces/entities.ts";

export const columnTypes = ["text", "image", "file", "json"] as const;

export interface Column {
  name: string;
  type: (typeof columnTypes)[number];
  /** Under which rows keep the column's values; the first name of the column, which stays when it is renamed. */
  key?: string;
}

export const Dataset = defineEntity({
  name: "Dataset",
  tableName: "datasets",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    slug: p.text(),
    name: p.text(),
    columns: json<Column[]>(),
    /** Columns that were removed: rows keep their values, which come back with a column of the same name. */
    removedColumns: json<Column[]>().default("[]"),
    createdAt: timestamp(),
    /** When it was deleted, as long as it has rows: for those who ask it is gone, and its slug is ~ and its id. */
    deletedAt: timestamp().nullable(),
  },
  uniques: [{ properties: ["workspace", "slug"] }],
  filters: { notDeleted: { name: "notDeleted", cond: { deletedAt: null }, default: true } },
});
export type Dataset = InferEntity<typeof Dataset>;

/** Rows are in the order of their ids: UUIDv7 grows with time. */
export const DatasetRow = defineEntity({
  name: "DatasetRow",
  tableName: "dataset_rows",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    dataset: () => p.manyToOne(Dataset).ref().index(false).deleteRule("cascade"),
    name: p.text().strictNullable(),
    /** What the caller knows the row by: the same key again changes the row instead of adding another. */
    key: p.text().strictNullable(),
    /** The log that the row was made from. No foreign key: the row outlives the log. */
    logId: p.uuid().strictNullable(),
    values: json<Record<string, unknown>>(),
    idealOutput: p.text().strictNullable(),
    metadata: json<Record<string, unknown>>().strictNullable(),
    createdAt: timestamp(),
  },
  // The parent stands first: by it the database finds the children when the parent is deleted.
  indexes: [{ properties: ["dataset", "workspace", "id"] }],
  uniques: [{ properties: ["dataset", "workspace", "key"] }],
});
export type DatasetRow = InferEntity<typeof DatasetRow>;
