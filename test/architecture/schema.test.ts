import { readFile } from "node:fs/promises";
import {
  type GraphQLObjectType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  parse,
  validate,
} from "graphql";
import { afterAll, expect, test } from "vitest";
import { examples } from "../../src/graphiql/examples.ts";
import { printedSchema, schema } from "../../src/schema.ts";
import { startServer } from "../support/server.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

test("schema.graphql is the schema as it is served; when it is not, run: npm run schema > schema.graphql", async () => {
  expect(await readFile(new URL("../../schema.graphql", import.meta.url), "utf8")).toBe(printedSchema());
});

test("every type, field, argument, input field and enum value is described", () => {
  const bare: string[] = [];
  const check = (what: string, { description }: { description?: string | null | undefined }) => {
    if (!description) bare.push(what);
  };
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) continue;
    check(type.name, type);
    if (isObjectType(type) || isInterfaceType(type) || isInputObjectType(type)) {
      for (const field of Object.values(type.getFields())) {
        check(`${type.name}.${field.name}`, field);
        if ("args" in field)
          for (const arg of field.args) check(`${type.name}.${field.name}(${arg.name})`, arg);
      }
    }
    // The words of REST stand in these enums as they are; their types describe them.
    if (isEnumType(type) && !["ColumnType", "LogType"].includes(type.name)) {
      for (const value of type.getValues()) check(`${type.name}.${value.name}`, value);
    }
  }
  expect(bare).toEqual([]);
});

test("the schema has the operations of the interface with exactly their arguments", () => {
  const signature = (type: GraphQLObjectType | null | undefined, name: string) => {
    const { args, type: answer } = type!.getFields()[name]!;
    return `${name}(${args.map((arg) => `${arg.name}: ${arg.type}`).toSorted()}): ${answer}`;
  };
  expect(
    ["dataset", "describePrompt", "log", "trace"].map((name) => signature(schema.getQueryType(), name)),
  ).toEqual([
    "dataset(slug: String!,tag: String,version: Int): Dataset",
    "describePrompt(slug: String!,tag: String,version: String): PromptDescription",
    "log(id: ID!): Log",
    "trace(id: ID!): Trace",
  ]);
  expect(["addDatasetItem", "logPrompt"].map((name) => signature(schema.getMutationType(), name))).toEqual([
    "addDatasetItem(input: DatasetItemInput!,slug: String!): AddDatasetItemPayload!",
    "logPrompt(input: LogPromptInput!): LogPromptPayload!",
  ]);
});

// As README had them before lists became connections: only the rows are read in another way.
test.each([
  [
    "dataset",
    `query { dataset(slug: "country-quiz") {
      name columns { name type } rowCount rows(first: 2) { nodes { id values idealOutput metadata } } warning
    } }`,
  ],
  [
    "addDatasetItem",
    `mutation { addDatasetItem(
      slug: "country-quiz"
      input: { values: { question: "Which country has Nairobi as its capital?" }, idealOutput: "Kenya" }
    ) { datasetRow { id values idealOutput } warning } }`,
  ],
  [
    "describePrompt",
    `query { describePrompt(slug: "country-guide", tag: "production") {
      name status version availableVersions availableTags variables { label type description } warning
    } }`,
  ],
  [
    "logPrompt",
    `mutation { logPrompt(
      input: { slug: "country-guide", input: "What is the capital of Kenya?", output: "Nairobi." }
    ) { log { id inputTokens outputTokens cost costSource } trace { id } warning } }`,
  ],
])("a query of %s that was written by the first README runs", async (name, query) => {
  const { body } = await server.graphql(query);
  expect(body.errors).toBeUndefined();
  expect(body.data[name].warning).toBeNull();
});

test("the playground's examples fit the schema", () => {
  for (const { query } of examples) expect(validate(schema, parse(query))).toEqual([]);
});
