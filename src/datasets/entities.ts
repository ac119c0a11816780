import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { json, timestamp } from "../database/columnTypes.ts";
import { Workspace } from "../workspaces/entities.ts";

export const columnTypes = ["text", "image", "file", "json"] as const;

export interface Column {
  name: string;
  type: (typeof columnTypes)[number];
  /** The key of the column's values in the rows: its first name, which stays when it is renamed. */
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
    /** The time of its soft delete, while its rows are being removed; its slug is then ~ and its id. */
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
    /** The caller's own id of the row: the same key again changes the row instead of adding another. */
    key: p.text().strictNullable(),
    /** The log that the row was made from. No foreign key: the row outlives the log. */
    logId: p.uuid().strictNullable(),
    values: json<Record<string, unknown>>(),
    idealOutput: p.text().strictNullable(),
    metadata: json<Record<string, unknown>>().strictNullable(),
    createdAt: timestamp(),
  },
  // Begins with the parent: the database finds the children of a deleted parent by it.
  indexes: [{ properties: ["dataset", "workspace", "id"] }],
  uniques: [{ properties: ["dataset", "workspace", "key"] }],
});
export type DatasetRow = InferEntity<typeof DatasetRow>;
