import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { json, moment } from "../database/columns.ts";
import { Workspace } from "../workspaces/entities.ts";

export const columnTypes = ["text", "image", "file", "json"] as const;

export interface Column {
  name: string;
  type: (typeof columnTypes)[number];
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
    createdAt: moment(),
  },
  uniques: [{ properties: ["workspace", "slug"] }],
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
    values: json<Record<string, unknown>>(),
    idealOutput: p.text().strictNullable(),
    metadata: json<Record<string, unknown>>().strictNullable(),
    createdAt: moment(),
  },
  // The parent stands first: by it the database finds the children when the parent is deleted.
  indexes: [{ properties: ["dataset", "workspace", "id"] }],
});
export type DatasetRow = InferEntity<typeof DatasetRow>;
