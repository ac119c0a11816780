import { getIntrospectionQuery } from "graphql";
import { expect, test } from "vitest";
import { startServer } from "../support/server.ts";

const server = await startServer();

const ALL = getIntrospectionQuery({ inputValueDeprecation: true, oneOf: true, schemaDescription: true });
const TYPES = "types { name fields { name isDeprecated type { name kind ofType { name kind } } } }";
const FIELDS_OF_T =
  "fragment T on __Type { fields(includeDeprecated: true) { name type { name ofType { name } } args(includeDeprecated: true) { name } } }";
const aliased = (times: number, field: string) =>
  Array.from({ length: times }, (_, n) => `a${n}: ${field}`).join(" ");

/** How many fields a response has. */
const fieldsIn = (value: unknown): number => {
  if (Array.isArray(value)) return value.reduce((sum, one) => sum + fieldsIn(one), 0);
  const inner = Object.values(value && typeof value === "object" ? value : {});
  return inner.reduce<number>((sum, one) => sum + 1 + fieldsIn(one), 0);
};

test.each([
  [ALL, {}],
  [
    `query($name: String!) { __type(name: $name) { possibleTypes { ...T } } } ${FIELDS_OF_T}`,
    { name: "Node" },
  ],
  [`query($name: String!) { __type(name: $name) { ...T } } ${FIELDS_OF_T}`, { name: "Query" }],
  [`query($name: String!) { __type(name: $name) { ...T } } ${FIELDS_OF_T}`, { name: "Nothing" }],
])("introspection costs four times the fields that its response has: %s %j", async (query, variables) => {
  const headers = { "gabbro-cost": "1" };
  const { data, errors, extensions } = (await server.graphql(query, variables, { headers })).body;
  expect(errors).toBeUndefined();
  expect(extensions.cost.maxFields).toBe(1 + 4 * (fieldsIn(data) - 1));
});

test.each([
  `{ ${aliased(25, `__schema { ${TYPES} }`)} }`,
  `{ __schema { ${aliased(25, TYPES)} } }`,
  `{ ...S } fragment S on Query { __schema { ... on __Schema { ...T } } } fragment T on __Schema { ${aliased(25, TYPES)} }`,
])("introspection of more than 50,000 fields is refused: %s", async (query) => {
  const { body } = await server.graphql(query);
  expect(body.errors).toEqual([expect.objectContaining({ extensions: { code: "QUERY_TOO_COMPLEX" } })]);
});

test.each([
  ["a type that does not exist", "Nothing", undefined],
  ["a type", "Query", "QUERY_TOO_COMPLEX"],
])("fragments that spread each other twice, forty deep, are counted at once: %s", async (_, name, code) => {
  const fragments = Array.from(
    { length: 40 },
    (_, n) => `fragment F${n} on __Type { ...F${n + 1} ...F${n + 1} }`,
  );
  const query = `{ __type(name: "${name}") { ...F0 } } ${fragments.join(" ")} fragment F40 on __Type { name }`;
  const { body } = await server.graphql(query);
  expect(body.errors?.[0].extensions.code).toBe(code);
});
