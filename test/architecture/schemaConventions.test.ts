import {
  buildSchema,
  type GraphQLObjectType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isIntrospectionType,
  isListType,
  isNonNullType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
} from "graphql";
import { expect, test } from "vitest";
import { printedSchema } from "../../src/schema.ts";

/** What breaks a convention, as `Type.field` or `Type`. */
type Convention = (schema: GraphQLSchema) => string[];

const typesOf = (schema: GraphQLSchema) =>
  Object.values(schema.getTypeMap()).filter((type) => !isIntrospectionType(type));
const objectsOf = (schema: GraphQLSchema) => typesOf(schema).filter(isObjectType);
const mutationsOf = (schema: GraphQLSchema) => Object.values(schema.getMutationType()!.getFields());
const typeOf = (type: GraphQLObjectType, field: string) => String(type.getFields()[field]?.type);
const isDeletion = (name: string) => /^(?:delete|remove|end)[A-Z]/.test(name);

const payloadsWithoutTheirName: Convention = (schema) =>
  mutationsOf(schema).flatMap(({ name, type }) =>
    String(type) === `${name[0]!.toUpperCase()}${name.slice(1)}Payload!` ? [] : name,
  );

const payloadsWithoutWarnings: Convention = (schema) =>
  objectsOf(schema).flatMap((type) =>
    type.name.endsWith("Payload") && typeOf(type, "warnings") !== "[Warning!]!" ? type.name : [],
  );

const payloadsWithoutChange: Convention = (schema) =>
  objectsOf(schema).flatMap((type) => {
    const { warning: _, warnings, ...changed } = type.getFields();
    return type.name.endsWith("Payload") && Object.keys(changed).length === 0 ? type.name : [];
  });

const deletionsWithoutId: Convention = (schema) =>
  mutationsOf(schema).flatMap(({ name, type }) => {
    const payload = isNonNullType(type) && isObjectType(type.ofType) ? type.ofType : undefined;
    const ids = Object.values(payload?.getFields() ?? {}).filter(
      (field) => /^deleted\w+Id$/.test(field.name) && String(field.type) === "ID!",
    );
    return isDeletion(name) && ids.length !== 1 ? name : [];
  });

const ARGUMENTS = ["id", "id,input", "input", "input,slug", "slug"];

const mutationsWithOtherArguments: Convention = (schema) =>
  mutationsOf(schema).flatMap(({ name, args }) => {
    const names = args.map((arg) => arg.name).toSorted();
    return ARGUMENTS.includes(names.join(",")) ? [] : name;
  });

const enumValuesInOtherCases: Convention = (schema) =>
  typesOf(schema)
    .filter(isEnumType)
    .flatMap((type) =>
      type
        .getValues()
        .filter(({ name }) => !/^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$/.test(name))
        .map(({ name }) => `${type.name}.${name}`),
    );

const scalarsOfNoSpecification: Convention = (schema) =>
  typesOf(schema)
    .filter(isScalarType)
    .filter((type) => !isSpecifiedScalarType(type) && !type.specifiedByURL)
    .map(({ name }) => name);

/** Words to search for are one text. */
const SEARCHED = ["LogFilter.text"];

const filtersOfSingleValues: Convention = (schema) =>
  typesOf(schema)
    .filter(isInputObjectType)
    .filter(({ name }) => /(?:Filter|Condition)$/.test(name))
    .flatMap((type) => {
      const fields = type.getFields();
      const missing = ["and", "or", "not"].filter((name) => !fields[name]);
      const single = Object.values(fields).filter(({ type }) => ["String", "ID"].includes(String(type)));
      return [...missing, ...single.map(({ name }) => name)].map((name) => `${type.name}.${name}`);
    })
    .filter((coordinate) => !SEARCHED.includes(coordinate));

/** Their ids are those that callers gave; the same id may come with another name. */
const WITH_IDS_OF_CALLERS = ["Party"];

const typesWithIdThatAreNoNodes: Convention = (schema) =>
  objectsOf(schema).flatMap((type) => {
    const isNode = type.getInterfaces().some(({ name }) => name === "Node");
    return type.getFields().id && !isNode && !WITH_IDS_OF_CALLERS.includes(type.name) ? type.name : [];
  });

/** Payloads answer one mutation each, whose input bounds what they list. */
const listsOfNodesThatCanGrow: Convention = (schema) =>
  objectsOf(schema).flatMap((type) =>
    Object.values(type.getFields()).flatMap((field) => {
      const list = isNonNullType(field.type) ? field.type.ofType : field.type;
      if (!isListType(list) || /(?:Connection|Payload)$/.test(type.name)) return [];
      const entry = isNonNullType(list.ofType) ? list.ofType.ofType : list.ofType;
      const isNode = isObjectType(entry) && entry.getInterfaces().some(({ name }) => name === "Node");
      return isNode && !BOUNDED.includes(`${type.name}.${field.name}`) ? `${type.name}.${field.name}` : [];
    }),
  );

/** Lists of at most 1,000 entries, which are part of what they belong to. */
const BOUNDED = ["Dataset.tags", "Prompt.tags"];

interface Case {
  convention: Convention;
  /** What breaks it: a text of the schema, what stands in its place, and what is found then. */
  found: string;
  replacement: string;
  broken: string;
}

test.each<[string, Case]>([
  [
    "every mutation returns a payload that is named after it, no scalar",
    {
      convention: payloadsWithoutTheirName,
      ...{ found: "): CreateDatasetPayload!", replacement: "): ID!", broken: "createDataset" },
    },
  ],
  [
    "every payload has warnings",
    {
      convention: payloadsWithoutWarnings,
      found: "type UpdateDatasetPayload {",
      replacement: "type EmptyPayload { a: Int }\ntype UpdateDatasetPayload {",
      broken: "EmptyPayload",
    },
  ],
  [
    "every payload has what changed",
    {
      convention: payloadsWithoutChange,
      found: "type UpdateDatasetPayload {",
      replacement: "type EmptyPayload { warnings: [Warning!]! }\ntype UpdateDatasetPayload {",
      broken: "EmptyPayload",
    },
  ],
  [
    "every deletion returns the id of what it deleted",
    {
      convention: deletionsWithoutId,
      ...{ found: "deletedDatasetId: ID!", replacement: "isDeleted: Boolean!", broken: "deleteDataset" },
    },
  ],
  [
    "every mutation takes a slug or an id, and one input",
    {
      convention: mutationsWithOtherArguments,
      found: "input: CreateDatasetInput!",
      replacement: "name: String, input: CreateDatasetInput!",
      broken: "createDataset",
    },
  ],
  [
    "the values of every enum are in upper case",
    {
      convention: enumValuesInOtherCases,
      ...{ found: "  PUBLISH\n", replacement: "  publish\n", broken: "Scope.publish" },
    },
  ],
  [
    "every filter takes lists, and, or and not",
    {
      convention: filtersOfSingleValues,
      ...{ found: "featureSlug: [String!]", replacement: "featureSlug: String" },
      broken: "PromptFilter.featureSlug",
    },
  ],
  [
    "every scalar says by @specifiedBy what it is",
    {
      convention: scalarsOfNoSpecification,
      found: 'scalar DateTime @specifiedBy(url: "https://www.rfc-editor.org/rfc/rfc3339")',
      ...{ replacement: "scalar DateTime", broken: "DateTime" },
    },
  ],
  [
    "every type that has an id is a node, but for the users and organizations of callers",
    {
      convention: typesWithIdThatAreNoNodes,
      ...{ found: "type File implements Node {", replacement: "type File {", broken: "File" },
    },
  ],
  [
    "every list of nodes that can grow is a connection",
    {
      convention: listsOfNodesThatCanGrow,
      ...{ found: "  rowCount: Int!", replacement: "  allRows: [DatasetRow!]!", broken: "Dataset.allRows" },
    },
  ],
])("%s", (_, { convention, found, replacement, broken }) => {
  const printed = printedSchema();
  expect(convention(buildSchema(printed))).toEqual([]);
  expect(printed).toContain(found);
  expect(convention(buildSchema(printed.replace(found, replacement)))).toEqual([broken]);
});
