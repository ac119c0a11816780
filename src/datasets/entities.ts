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
    /** Grows by one with every transaction that changes its rows or columns. */
    version: p.integer().default(1),
    /** The version that brought the columns as they are. */
    columnsVersion: p.integer().default(1),
    /** Labels of tags that only a token with the scope `publish` may move. */
    protectedTags: json<string[]>().default("[]"),
    createdAt: timestamp(),
    /** The time of its soft delete, while its rows are being removed; its slug is then ~ and its id. */
    deletedAt: timestamp().nullable(),
  },
  uniques: [{ properties: ["workspace", "slug"] }],
  indexes: [{ name: "datasets_deleted", properties: ["deletedAt"], where: "deleted_at is not null" }],
  filters: { notDeleted: { name: "notDeleted", cond: { deletedAt: null }, default: true } },
});
export type Dataset = InferEntity<typeof Dataset>;

/** Rows are in the order of their ids: UUIDv7 grows with time, by the clock of the process that adds them. */
export const DatasetRow = defineEntity({
  name: "DatasetRow",
  tableName: "dataset_rows",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    dataset: () => p.manyToOne(Dataset).ref().index(false).deleteRule("cascade"),
    /** The version of the dataset that brought this content. */
    version: p.integer().default(1),
    createdAt: timestamp(),
    /** The log that the row was made from. No foreign key: the row outlives the log. */
    logId: p.uuid().strictNullable(),
    /** The caller's own id of the row: the same key again changes the row instead of adding another. */
    key: p.text().strictNullable(),
    // Texts of any length stand last: SQLite reads a row up to the column that it needs.
    name: p.text().strictNullable(),
    idealOutput: p.text().strictNullable(),
    metadata: json<Record<string, unknown>>().strictNullable(),
    values: json<Record<string, unknown>>(),
  },
  // Begins with the parent: the database finds the children of a deleted parent by it.
  // With the version: older versions are found without the row.
  indexes: [{ properties: ["dataset", "workspace", "id", "version"] }],
  uniques: [{ properties: ["dataset", "workspace", "key"] }],
});
export type DatasetRow = InferEntity<typeof DatasetRow>;

/**
 * What a row was before it was changed or deleted. Written by triggers of the database alone, so that no write forgets it,
 * and never changed.
 */
export const DatasetRowRevision = defineEntity({
  name: "DatasetRowRevision",
  tableName: "dataset_row_revisions",
  properties: {
    /** The id of the row, @ and `until` in ten digits: a row's revisions are in their order. */
    id: p.text().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    dataset: () => p.manyToOne(Dataset).ref().index(false).deleteRule("cascade"),
    /** The version of the dataset that brought this content. */
    version: p.integer(),
    /** The version of the dataset that replaced this content, or deleted the row. */
    until: p.integer(),
    createdAt: timestamp(),
    logId: p.uuid().strictNullable(),
    key: p.text().strictNullable(),
    name: p.text().strictNullable(),
    idealOutput: p.text().strictNullable(),
    metadata: json<Record<string, unknown>>().strictNullable(),
    values: json<Record<string, unknown>>(),
  },
  indexes: [
    {
      name: "dataset_row_revisions_in_order",
      properties: ["dataset", "workspace", "id", "version", "until"],
    },
  ],
});
export type DatasetRowRevision = InferEntity<typeof DatasetRowRevision>;

/** The columns of a dataset before they were changed. */
export const DatasetColumnsRevision = defineEntity({
  name: "DatasetColumnsRevision",
  tableName: "dataset_columns_revisions",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    dataset: () => p.manyToOne(Dataset).ref().index(false).deleteRule("cascade"),
    /** The version of the dataset that replaced these columns. */
    until: p.integer(),
    columns: json<Column[]>(),
    removedColumns: json<Column[]>(),
  },
  uniques: [{ properties: ["dataset", "workspace", "until"] }],
});
export type DatasetColumnsRevision = InferEntity<typeof DatasetColumnsRevision>;

/** Names one version of its dataset. `latest` is not stored: it is the newest. */
export const DatasetTag = defineEntity({
  name: "DatasetTag",
  tableName: "dataset_tags",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    dataset: () => p.manyToOne(Dataset).ref().index(false).deleteRule("cascade"),
    label: p.text(),
    version: p.integer(),
    createdAt: timestamp(),
  },
  uniques: [{ properties: ["dataset", "workspace", "label"] }],
});
export type DatasetTag = InferEntity<typeof DatasetTag>;
