import type { ObjectFieldBuilder } from "@pothos/core";
import type { Context } from "../context.ts";
import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { connect, connectionType } from "../graphql/connections.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { payloadType } from "../graphql/payloads.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import { type Change, columnChanges, datasetDiff, type RowChange, rowChanges } from "./diff.resolvers.ts";
import type { Column } from "./entities.ts";
import { Dataset, DatasetColumn, DatasetRow } from "./graphql.ts";
import {
  datasetDiffInput,
  datasetVersionSelector,
  removeDatasetTagInput,
  setDatasetTagProtectionInput,
  tagDatasetInput,
} from "./inputs.ts";
import {
  type DatasetTagState,
  datasetTags,
  findDatasetTag,
  protectedDatasetTags,
  removeDatasetTag,
  setDatasetTagProtection,
  tagDatasetVersion,
} from "./tags.resolvers.ts";
import { dataset } from "./versions.resolvers.ts";

const DatasetTag = builder.objectRef<{ id: string; label: string; version: number }>("DatasetTag").implement({
  description: "A tag, and the version of a dataset that it names.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
    label: t.exposeString("label", { description: "Its name." }),
    version: t.exposeInt("version", { description: "The version that it names." }),
  }),
});

findsNode(DatasetTag, "read", { find: findDatasetTag });

builder.objectFields(Dataset, (t) => ({
  tags: t.field({
    type: [DatasetTag],
    description: "The tags of today, in the order of their names.",
    resolve: ({ id }, _, context) => datasetTags(context, id),
  }),
  protectedTags: t.stringList({
    description: "The tags that only a token with the scope `publish` may move.",
    resolve: ({ id }, _, context) => protectedDatasetTags(context, id),
  }),
}));

const DatasetVersionSelector = builder.inputType("DatasetVersionSelector", {
  description: datasetVersionSelector.description,
  isOneOf: true,
  fields: (t) => ({
    version: t.int({ description: "The number of the version." }),
    tag: t.string({ description: "A tag that names the version, such as `latest`." }),
  }),
});

const ChangeKind = builder.enumType("DatasetChangeKind", {
  description: "How two versions of a dataset differ in a row or a column.",
  values: {
    ADDED: { description: "Only the second version has it." },
    CHANGED: { description: "Both have it, with other content, or with another name or type." },
    REMOVED: { description: "Only the first version has it." },
  },
});

function kindField<Changed>(t: ObjectFieldBuilder<typeof builder.$inferSchemaTypes, Change<Changed>>) {
  return t.field({
    type: ChangeKind,
    description: "How they differ.",
    resolve: ({ before, after }) => (before ? (after ? "CHANGED" : "REMOVED") : "ADDED"),
  });
}

const DatasetRowChange = builder.objectRef<RowChange>("DatasetRowChange").implement({
  description: "A row in which two versions of a dataset differ.",
  fields: (t) => ({
    kind: kindField(t),
    before: t.expose("before", {
      type: DatasetRow,
      nullable: true,
      description: "The row in the first version; null when it was not there.",
    }),
    after: t.expose("after", {
      type: DatasetRow,
      nullable: true,
      description: "The row in the second version; null when it was not there.",
    }),
  }),
});

const DatasetColumnChange = builder.objectRef<Change<Column>>("DatasetColumnChange").implement({
  description: "A column in which two versions of a dataset differ.",
  fields: (t) => ({
    kind: kindField(t),
    before: t.expose("before", {
      type: DatasetColumn,
      nullable: true,
      description: "The column in the first version; null when it was not there.",
    }),
    after: t.expose("after", {
      type: DatasetColumn,
      nullable: true,
      description: "The column in the second version; null when it was not there.",
    }),
  }),
});

const DatasetDiff = connectionType(DatasetRowChange, "the rows in which two versions of a dataset differ");

interface ColumnChanges {
  columnChanges: Change<Column>[];
}

builder.objectField(DatasetDiff, "columnChanges", (t) =>
  t.field({
    type: [DatasetColumnChange],
    description:
      "The columns in which the versions differ: those that were added, removed, renamed, or given another type. Each page has all of them.",
    resolve: (page) => (page as typeof page & ColumnChanges).columnChanges,
  }),
);

builder.queryField("datasetDiff", (t) =>
  t.field({
    type: DatasetDiff,
    description:
      "The columns and the rows in which two versions of a dataset differ, rows in the order in which they were added. A row differs when its own content does: one whose columns were renamed or removed does not. An error `DATASET_NOT_FOUND`, `VERSION_NOT_FOUND` or `TAG_NOT_FOUND` when what is named is not there.",
    args: argumentsOf(t, datasetDiffInput, { from: DatasetVersionSelector, to: DatasetVersionSelector }),
    resolve: async (_, { slug, from, to, ...args }, context) => {
      const diff = await datasetDiff(context, { slug, from, to });
      const page = await connect(context, args, {
        read: (page) => rowChanges(context, diff, page),
        key: ({ id }) => id,
      });
      return { ...page, columnChanges: columnChanges(diff) } satisfies ColumnChanges;
    },
  }),
);

/** The dataset after a change; null when the token may write but not read. */
async function readableDataset(context: Context, { slug }: { slug: string }) {
  return authenticated(context).scopes.includes("read") ? dataset(context, { slug }) : null;
}

function datasetField<State extends { slug: string }>(
  t: ObjectFieldBuilder<typeof builder.$inferSchemaTypes, State>,
) {
  return t.field({
    type: Dataset,
    nullable: true,
    description: "The dataset as it is now; null when the token lacks the scope `read`.",
    resolve: (state, _, context) => readableDataset(context, state),
  });
}

const TagDatasetVersionPayload = payloadType<DatasetTagState>("TagDatasetVersionPayload", {
  description: "The tag that names a version now.",
  fields: (t) => ({
    datasetTag: t.field({
      type: DatasetTag,
      description: "The tag as it is now.",
      resolve: ({ id, label, version }) => ({ id, label, version: version! }),
    }),
    dataset: datasetField(t),
  }),
});

const RemoveDatasetTagPayload = payloadType<DatasetTagState>("RemoveDatasetTagPayload", {
  description: "The tag that was removed.",
  fields: (t) => ({
    deletedDatasetTagId: t.exposeID("id", { description: "The id of the tag that was removed." }),
    dataset: datasetField(t),
  }),
});

const SetDatasetTagProtectionPayload = payloadType<{ slug: string; protectedTags: string[] }>(
  "SetDatasetTagProtectionPayload",
  {
    description: "The protected tags of the dataset.",
    fields: (t) => ({
      protectedTags: t.exposeStringList("protectedTags", {
        description: "The tags that are protected now, by name.",
      }),
      dataset: datasetField(t),
    }),
  },
);

const NAMED =
  "an error `DATASET_NOT_FOUND`, `VERSION_NOT_FOUND` or `TAG_NOT_FOUND` when what is named is not there";

builder.mutationFields((t) => ({
  tagDatasetVersion: t.field({
    type: TagDatasetVersionPayload,
    description: `Has a tag name a version of a dataset, and makes the tag when there is none of that name; ${NAMED}. A protected tag needs the scope \`publish\`.`,
    args: argumentsOf(t, tagDatasetInput, {
      input: inputTypeOf("TagDatasetVersionInput", tagDatasetInput.shape.input, {
        to: DatasetVersionSelector,
      }),
    }),
    resolve: (_, args, context) => tagDatasetVersion(context, args),
  }),
  removeDatasetTag: t.field({
    type: RemoveDatasetTagPayload,
    description:
      "Removes a tag of a dataset; an error `DATASET_NOT_FOUND` or `TAG_NOT_FOUND` when there is none of that name. A protected tag needs the scope `publish`.",
    args: argumentsOf(t, removeDatasetTagInput, {
      input: inputTypeOf("RemoveDatasetTagInput", removeDatasetTagInput.shape.input),
    }),
    resolve: (_, args, context) => removeDatasetTag(context, args),
  }),
  setDatasetTagProtection: t.field({
    type: SetDatasetTagProtectionPayload,
    description:
      "Protects a tag of a dataset or removes its protection; an error `DATASET_NOT_FOUND` when there is no such dataset. Needs the scope `publish`.",
    args: argumentsOf(t, setDatasetTagProtectionInput, {
      input: inputTypeOf("SetDatasetTagProtectionInput", setDatasetTagProtectionInput.shape.input),
    }),
    resolve: async (_, args, context) => ({
      slug: args.slug,
      protectedTags: await setDatasetTagProtection(context, args),
    }),
  }),
}));
