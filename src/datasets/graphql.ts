import type { ObjectFieldBuilder } from "@pothos/core";
import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { payloadType, warningField } from "../graphql/payloads.ts";
import { selectedFields, selectedNodeFields } from "../graphql/selection.ts";
import { ROW_COLUMNS, type RowColumn } from "./contents.resolvers.ts";
import { lastSkippedRow, rowCount } from "./counts.resolvers.ts";
import type { Column } from "./entities.ts";
import { addDatasetItemInput, datasetInput, datasetRowInput, MAX_ROWS_AT_ONCE, rowsInput } from "./inputs.ts";
import { addDatasetItem } from "./items.resolvers.ts";
import { findDataset, findDatasetAt, findDatasetRow, findDatasetRowAt } from "./nodes.resolvers.ts";
import { datasetRows, datasetWarning } from "./reading.resolvers.ts";
import type { DatasetHead, Row, StoredItem } from "./resolvers.ts";
import { currentVersion, dataset } from "./versions.resolvers.ts";

export const ColumnType = builder.enumType("ColumnType", {
  description:
    "What the values of a column are. Clients show them accordingly; values of any kind are accepted.",
  values: {
    TEXT: { value: "text", description: "Text." },
    IMAGE: { value: "image", description: "The address of an image." },
    FILE: { value: "file", description: "The address of a file." },
    JSON: { value: "json", description: "Any JSON value." },
  } satisfies Record<Uppercase<Column["type"]>, object>,
});

export const DatasetColumn = builder.objectRef<Column>("DatasetColumn").implement({
  description: "A column of a dataset.",
  fields: (t) => ({
    name: t.exposeString("name", {
      description: "The name, unique in the dataset: the key of its value in each row.",
    }),
    type: t.field({ type: ColumnType, description: "What the values are.", resolve: ({ type }) => type }),
  }),
});

export const DatasetRow = builder.objectRef<Row>("DatasetRow").implement({
  description: "A row of a dataset: one case to evaluate.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: "The id, a UUID; with @ and the version where the dataset was asked for in a version.",
      resolve: ({ id, asOf }) => (asOf === undefined ? id : `${id}@${asOf}`),
    }),
    name: t.exposeString("name", {
      nullable: true,
      description: "The name of the row; null when it has none.",
    }),
    values: t.expose("values", {
      type: "JSONObject",
      description: "The value of each column, by the column's name.",
    }),
    key: t.exposeString("key", {
      nullable: true,
      description: "The caller's own id of the row; null when it has none.",
    }),
    idealOutput: t.exposeString("idealOutput", {
      nullable: true,
      description: "The output that a model should give for this row.",
    }),
    metadata: t.expose("metadata", {
      type: "JSONObject",
      nullable: true,
      description: "Anything else that was kept with the row.",
    }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When the row was added." }),
  }),
});

const DatasetRowConnection = connectionType(DatasetRow, "the rows of a dataset");

export const Dataset = builder.objectRef<DatasetHead>("Dataset").implement({
  description: "A dataset: cases to evaluate prompts with, as rows under columns.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.id({
      description: "The id, a UUID; with @ and the version where the dataset was asked for in a version.",
      resolve: ({ id, version, isPinned }) => (isPinned ? `${id}@${version}` : id),
    }),
    slug: t.exposeString("slug", { description: "The slug, unique in the workspace." }),
    name: t.exposeString("name", {
      description: "The name to show, which is that of today in each version.",
    }),
    version: t.int({
      description:
        "The version: 1 for a new dataset, and one more with each change of its rows or columns. What was read can be read again by it.",
      resolve: ({ id, version }, _, context) => version ?? currentVersion(context, id),
    }),
    columns: t.field({
      type: [DatasetColumn],
      description: "The columns in order.",
      resolve: ({ columns }) => columns,
    }),
    rowCount: t.int({
      description: "How many rows the dataset has.",
      resolve: (parent, _, context) => rowCount(context, parent),
    }),
    rows: t.field({
      type: DatasetRowConnection,
      description:
        "The rows in the order in which they were added. Without `first` all of them come; a dataset of more than 10,000 rows must be paged.",
      args: argumentsOf(t, rowsInput),
      extensions: { maxPageEntries: MAX_ROWS_AT_ONCE },
      resolve: async (parent, { first, after: begin = null, offset }, context, info) => {
        const columns = columnsFor(selectedNodeFields(info));
        const isWhole = first == null && begin === null && !offset;
        const after = offset ? await lastSkippedRow(context, parent, { after: begin, offset }) : begin;
        return connect(
          context,
          { first, after },
          {
            read: ({ after, limit }) =>
              datasetRows(context, parent, { after, limit: isWhole ? undefined : limit, columns }),
            key: ({ id }) => id,
            size: MAX_ROWS_AT_ONCE,
            entryBytes: ROW_BYTES,
          },
        );
      },
    }),
    warning: t.string({
      nullable: true,
      description:
        "Names the columns that stored rows have values for but the dataset does not have; null for none.",
      resolve: (parent, _, context) => datasetWarning(context, parent),
    }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When the dataset was made." }),
  }),
});

findsNode(Dataset, "read", { find: findDataset, findAt: findDatasetAt });
findsNode(DatasetRow, "read", { find: findDatasetRow, findAt: findDatasetRowAt });

/** What a row takes beside its values, which are counted as they are read. */
const ROW_BYTES = 100;

function columnsFor(fields: Set<string>): RowColumn[] {
  return ROW_COLUMNS.filter((column) => fields.has(column === "logId" ? "log" : column));
}

export const DatasetItemInput = inputTypeOf("DatasetItemInput", datasetRowInput, {
  values: "JSONObject!",
  metadata: "JSONObject",
});

const AddDatasetItemPayload = payloadType<StoredItem>("AddDatasetItemPayload", {
  description: "The row that was added or changed.",
  fields: (t) => ({ ...storedItemFields(t), warning: warningField(t) }),
});

/** The fields of a payload with a row. */
export function storedItemFields(t: ObjectFieldBuilder<typeof builder.$inferSchemaTypes, StoredItem>) {
  return {
    datasetRow: t.expose("datasetRow", { type: DatasetRow, description: "The row as it was stored." }),
  };
}

builder.queryField("dataset", (t) =>
  t.field({
    type: Dataset,
    nullable: true,
    description:
      "The dataset with that slug, as it is or as it was in a version; an error `DATASET_NOT_FOUND`, `VERSION_NOT_FOUND` or `TAG_NOT_FOUND` when there is none.",
    args: argumentsOf(t, datasetInput),
    resolve: (_, args, context, info) =>
      dataset(context, { ...args, withVersion: selectedFields(info).has("version") }),
  }),
);

builder.mutationField("addDatasetItem", (t) =>
  t.field({
    type: AddDatasetItemPayload,
    description: "Adds a row to a dataset; an error `DATASET_NOT_FOUND` when there is none with that slug.",
    args: argumentsOf(t, addDatasetItemInput, { input: DatasetItemInput }),
    resolve: (_, args, context) => addDatasetItem(context, args),
  }),
);
