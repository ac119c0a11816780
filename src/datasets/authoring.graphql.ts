import type { ErrorDetail } from "../errors.ts";
import { argumentsOf, builder } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { createDataset, datasets, deleteDataset, updateDataset } from "./authoring.resolvers.ts";
import { AddDatasetItemPayload, ColumnType, Dataset, DatasetRow } from "./graphql.ts";
import {
  addDatasetItemsInput,
  columnInput,
  columnRename,
  createDatasetInput,
  datasetInput,
  datasetItemInput,
  datasetsInput,
  updateDatasetInput,
  updateDatasetItemInput,
} from "./inputs.ts";
import { addDatasetItems, deleteDatasetItem, type ItemResult, updateDatasetItem } from "./items.resolvers.ts";

const DatasetColumnInput = builder.inputType("DatasetColumnInput", {
  description: "A column for a dataset.",
  fields: (t) => ({
    name: t.string({ required: true, description: columnInput.shape.name.description }),
    type: t.field({ type: ColumnType, required: true, description: columnInput.shape.type.description }),
  }),
});

const ColumnRenameInput = builder.inputType("ColumnRenameInput", {
  description: "A new name for a column.",
  fields: (t) => ({
    from: t.string({ required: true, description: columnRename.shape.from.description }),
    to: t.string({ required: true, description: columnRename.shape.to.description }),
  }),
});

const InputFault = builder.objectRef<ErrorDetail>("InputFault").implement({
  description: "One error of an input.",
  fields: (t) => ({
    path: t.exposeString("path", { description: "Where it is, as dotted steps; empty for the whole." }),
    message: t.exposeString("message", { description: "What is wrong there." }),
  }),
});

const ItemError = builder.objectRef<NonNullable<ItemResult["error"]>>("DatasetItemError").implement({
  description: "Why a row was refused.",
  fields: (t) => ({
    message: t.exposeString("message", { description: "What was wrong, in one sentence." }),
    details: t.expose("details", { type: [InputFault], description: "Every error of the row." }),
  }),
});

const DatasetItemResult = builder.objectRef<ItemResult>("DatasetItemResult").implement({
  description: "The result of adding one of many rows.",
  fields: (t) => ({
    datasetRow: t.expose("datasetRow", {
      type: DatasetRow,
      nullable: true,
      description: "The row; null when refused.",
    }),
    warning: t.exposeString("warning", {
      nullable: true,
      description: "Names the columns that were left out.",
    }),
    error: t.expose("error", {
      type: ItemError,
      nullable: true,
      description: "Why it was refused; null when stored.",
    }),
  }),
});

builder.queryField("datasets", (t) =>
  t.field({
    type: connectionType(Dataset, "datasets"),
    description: "The datasets in the order of their slugs.",
    args: argumentsOf(t, datasetsInput),
    resolve: (_, { search, ...args }, context) =>
      connect(args, { read: (page) => datasets(context, { search, ...page }), key: ({ slug }) => slug }),
  }),
);

builder.mutationFields((t) => ({
  createDataset: t.field({
    type: Dataset,
    description:
      "Makes a dataset, without rows yet; an error `CONFLICT` when the slug is taken. Needs `read` and `write`.",
    args: argumentsOf(t, createDatasetInput, {
      columns: t.arg({
        type: [DatasetColumnInput],
        required: true,
        description: createDatasetInput.shape.columns.description,
      }),
    }),
    resolve: (_, args, context) => createDataset(context, args),
  }),
  updateDataset: t.field({
    type: Dataset,
    description:
      "Changes the name and the columns of a dataset: it removes, then renames, then adds. Needs `read` and `write`.",
    args: argumentsOf(t, updateDatasetInput, {
      removeColumns: t.arg.stringList({ description: updateDatasetInput.shape.removeColumns.description }),
      renameColumns: t.arg({
        type: [ColumnRenameInput],
        description: updateDatasetInput.shape.renameColumns.description,
      }),
      addColumns: t.arg({
        type: [DatasetColumnInput],
        description: updateDatasetInput.shape.addColumns.description,
      }),
    }),
    resolve: (_, args, context) => updateDataset(context, args),
  }),
  deleteDataset: t.string({
    description:
      "Removes a dataset with its rows and returns its slug. The rows of a large one are removed from the database afterwards.",
    args: argumentsOf(t, datasetInput),
    resolve: (_, args, context) => deleteDataset(context, args),
  }),
}));

builder.mutationFields((t) => ({
  addDatasetItems: t.field({
    type: [DatasetItemResult],
    description: "Adds up to 1,000 rows in one transaction and returns the result of each, in their order.",
    args: argumentsOf(t, addDatasetItemsInput, {
      items: t.arg({
        type: ["JSON"],
        required: true,
        description: addDatasetItemsInput.shape.items.description,
      }),
    }),
    resolve: (_, args, context) => addDatasetItems(context, args),
  }),
  updateDatasetItem: t.field({
    type: AddDatasetItemPayload,
    description:
      "Changes what is given of a row; an error `ROW_NOT_FOUND` when there is none with that id. Needs `read` and `write`.",
    args: argumentsOf(t, updateDatasetItemInput, {
      id: t.arg.id({ required: true, description: updateDatasetItemInput.shape.id.description }),
      values: t.arg({ type: "JSONObject", description: updateDatasetItemInput.shape.values.description }),
      metadata: t.arg({ type: "JSONObject", description: updateDatasetItemInput.shape.metadata.description }),
    }),
    resolve: (_, args, context) => updateDatasetItem(context, args),
  }),
  deleteDatasetItem: t.id({
    description: "Removes a row and returns its id.",
    args: argumentsOf(t, datasetItemInput, {
      id: t.arg.id({ required: true, description: datasetItemInput.shape.id.description }),
    }),
    resolve: (_, args, context) => deleteDatasetItem(context, args),
  }),
}));
