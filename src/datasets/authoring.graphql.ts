import type { ErrorDetail } from "../errors.ts";
import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { ErrorCodeType } from "../graphql/errorCodes.ts";
import { deletionType, payloadType } from "../graphql/payloads.ts";
import { createDataset, deleteDataset, updateDataset } from "./authoring.resolvers.ts";
import { ColumnType, Dataset, DatasetItemInput, DatasetRow, storedItemFields } from "./graphql.ts";
import {
  addDatasetItemsInput,
  columnInput,
  columnRename,
  createDatasetArguments,
  createDatasetInput,
  datasetItemInput,
  datasetSlugInput,
  datasetsInput,
  updateDatasetInput,
  updateDatasetItemInput,
} from "./inputs.ts";
import {
  addDatasetItems,
  deleteDatasetItem,
  type ItemError,
  type StoredItems,
  updateDatasetItem,
} from "./items.resolvers.ts";
import { datasets } from "./listing.resolvers.ts";
import type { DatasetHead, StoredItem } from "./resolvers.ts";

builder.queryField("datasets", (t) =>
  t.field({
    type: connectionType(Dataset, "datasets"),
    description: "The datasets in the order of their slugs.",
    args: argumentsOf(t, datasetsInput),
    resolve: (_, { search, ...args }, context) =>
      connect(context, args, {
        read: (page) => datasets(context, { search, ...page }),
        key: ({ slug }) => slug,
      }),
  }),
);

const DatasetColumnInput = inputTypeOf("DatasetColumnInput", columnInput, { type: ColumnType });
const CreateDatasetInput = inputTypeOf("CreateDatasetInput", createDatasetInput, {
  columns: [DatasetColumnInput],
});
const UpdateDatasetInput = inputTypeOf("UpdateDatasetInput", updateDatasetInput.shape.input, {
  renameColumns: [inputTypeOf("ColumnRenameInput", columnRename)],
  addColumns: [DatasetColumnInput],
});

const datasetPayload = (name: string, description: string) =>
  payloadType<{ dataset: DatasetHead }>(name, {
    description,
    fields: (t) => ({
      dataset: t.expose("dataset", { type: Dataset, description: "The dataset as it is now." }),
    }),
  });

builder.mutationFields((t) => ({
  createDataset: t.field({
    type: datasetPayload("CreateDatasetPayload", "The dataset that was made."),
    description:
      "Makes a dataset, without rows yet; an error `CONFLICT` when the slug is taken. Needs `read` and `write`.",
    args: argumentsOf(t, createDatasetArguments, { input: CreateDatasetInput }),
    resolve: async (_, { input }, context) => ({ dataset: await createDataset(context, input) }),
  }),
  updateDataset: t.field({
    type: datasetPayload("UpdateDatasetPayload", "The dataset that was changed."),
    description:
      "Changes the name and the columns of a dataset: it removes, then renames, then adds. An error `DATASET_NOT_FOUND` when there is none with that slug, `CONFLICT` when two columns would have one name. Needs `read` and `write`.",
    args: argumentsOf(t, updateDatasetInput, { input: UpdateDatasetInput }),
    resolve: async (_, args, context) => ({ dataset: await updateDataset(context, args) }),
  }),
  deleteDataset: t.field({
    type: deletionType("Dataset", "dataset"),
    description:
      "Removes a dataset with its rows; an error `DATASET_NOT_FOUND` when there is none with that slug. Its rows are removed from the database afterwards. With protected tags it needs the scope `publish`.",
    args: argumentsOf(t, datasetSlugInput),
    resolve: async (_, args, context) => ({ id: await deleteDataset(context, args) }),
  }),
}));

const InputError = builder.objectRef<ErrorDetail>("InputError").implement({
  description: "One error of an input.",
  fields: (t) => ({
    path: t.exposeString("path", { description: "Where it is, as dotted steps; empty for the whole." }),
    message: t.exposeString("message", { description: "What is wrong there." }),
  }),
});

const DatasetItemError = builder.objectRef<ItemError>("DatasetItemError").implement({
  description: "Why a row was refused.",
  fields: (t) => ({
    index: t.exposeInt("index", { description: "Which of the rows it was; the first one is 0." }),
    code: t.expose("code", { type: ErrorCodeType, description: "What kind of error it is." }),
    message: t.exposeString("message", { description: "What was wrong, in one sentence." }),
    details: t.expose("details", { type: [InputError], description: "Every error of the row." }),
  }),
});

const AddDatasetItemsPayload = payloadType<StoredItems>("AddDatasetItemsPayload", {
  description: "What became of many rows.",
  fields: (t) => ({
    datasetRows: t.expose("datasetRows", {
      type: [DatasetRow],
      nullable: { list: false, items: true },
      description: "The rows in the order of the request; null for each that was refused.",
    }),
    errors: t.expose("errors", {
      type: [DatasetItemError],
      description: "The rows that were refused, by their index; the others are stored.",
    }),
  }),
});

const UpdateDatasetItemInput = inputTypeOf("UpdateDatasetItemInput", updateDatasetItemInput.shape.input, {
  values: "JSONObject",
  metadata: "JSONObject",
});

const AddDatasetItemsInput = inputTypeOf("AddDatasetItemsInput", addDatasetItemsInput.shape.input, {
  items: [DatasetItemInput],
});

builder.mutationFields((t) => ({
  addDatasetItems: t.field({
    type: AddDatasetItemsPayload,
    description:
      "Adds up to 1,000 rows in one transaction; an error `DATASET_NOT_FOUND` when there is no dataset with that slug.",
    args: argumentsOf(t, addDatasetItemsInput, { input: AddDatasetItemsInput }),
    resolve: (_, args, context) => addDatasetItems(context, args),
  }),
  updateDatasetItem: t.field({
    type: payloadType<StoredItem>("UpdateDatasetItemPayload", {
      description: "The row that was changed.",
      fields: storedItemFields,
    }),
    description:
      "Changes what is given of a row; an error `ROW_NOT_FOUND` when there is none with that id. Needs `read` and `write`.",
    args: argumentsOf(t, updateDatasetItemInput, { id: "ID", input: UpdateDatasetItemInput }),
    resolve: (_, args, context) => updateDatasetItem(context, args),
  }),
  deleteDatasetItem: t.field({
    type: deletionType("DatasetItem", "row"),
    description: "Removes a row; an error `ROW_NOT_FOUND` when there is none with that id.",
    args: argumentsOf(t, datasetItemInput, { id: "ID" }),
    resolve: async (_, args, context) => ({ id: await deleteDatasetItem(context, args) }),
  }),
}));
