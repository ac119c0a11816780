import { expect, test } from "vitest";
import { startServer } from "../support/server.ts";

const server = await startServer();
await server.graphql(
  'mutation { createDataset(input: { slug: "rows", columns: [{ name: "a", type: TEXT }] }) { __typename } }',
);

const members = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1]));
const named = (times: number) => Array.from({ length: times }, (_, n) => `a${n}: $v`).join(" ");
const logged = (input: string, type = "JSON") =>
  `mutation($v: ${type}) { logPrompt(input: { slug: "x", output: "o", ${input} }) { log { id } } }`;
const TEXT = "x".repeat(600_000);

const tooLong: [what: string, query: string, variables: object][] = [
  ["members of an object", logged(`metadata: { ${named(100)} }`), { v: members(1_000) }],
  ["a text in a list", logged("metadata: { a: [$v, $v, $v] }"), { v: TEXT }],
  ["fields of an input", logged("input: $v, idealOutput: $v, metadata: { a: $v }"), { v: TEXT }],
  [
    "items of a list",
    `mutation($v: DatasetItemInput!) { addDatasetItems(slug: "rows", input: { items: [${"$v ".repeat(100)}] }) { __typename } }`,
    { v: { values: { a: "x".repeat(20_000) } } },
  ],
  [
    "a default value",
    `mutation($v: JSON = "${"x".repeat(100_000)}") { logPrompt(input: { slug: "x", output: "o", metadata: { ${named(20)} } }) { log { id } } }`,
    {},
  ],
  [
    "an argument in a fragment",
    `mutation($v: JSON) { ...F } fragment F on Mutation { logPrompt(input: { slug: "x", output: "o", metadata: { ${named(100)} } }) { log { id } } }`,
    { v: members(1_000) },
  ],
];

test.each(tooLong)(
  "a variable that is named again and again within an argument is refused: %s",
  async (_, query, variables) => {
    const { body } = await server.graphql(query, variables as Record<string, unknown>);
    const [error] = body.errors;
    expect(error.extensions.code).toBe("BAD_INPUT");
    expect(error.message).toMatch(/named several times within an argument/);
  },
);

test("it is refused as well where another part of the argument is of a wrong type", async () => {
  const query = logged(`type: 1, metadata: { ${named(100)} }`);
  const { body } = await server.graphql(query, { v: members(1_000) });
  expect(body.errors[0].message).toMatch(/named several times within an argument/);
});

test.each([
  ["named once, however long", logged("input: { a: $v }"), { v: members(99_000) }],
  ["named twice", logged("input: $v, idealOutput: $v"), { v: TEXT }],
  ["short, named often", logged(`metadata: { ${named(1_000)} }`), { v: 1 }],
  [
    "named in several fields",
    `mutation($v: JSON) { ${["a", "b", "c"].map((name) => `${name}: logPrompt(input: { slug: "x", output: "o", metadata: { a: $v } }) { log { id } }`).join(" ")} }`,
    { v: TEXT },
  ],
])("a variable is accepted that is %s", async (_, query, variables) => {
  const { body } = await server.graphql(query, variables as Record<string, unknown>);
  expect(body.errors).toBeUndefined();
});

const PAGES = "modelPrices(first: $v) { nodes { id } }";
const types = (more = "") => `{ logs(filter: { type: [$v] }) { nodes { id } } ${more} }`;

test.each([
  ["in a list", `query($v: LogType = SPAN) ${types()}`],
  ["in a fragment", `query A($v: LogType = SPAN) { ...F } fragment F on Query ${types()}`],
  ["of a directive", "query($v: Boolean = true) { logs { nodes { id @include(if: $v) } } }"],
])(
  "a variable with a default that is null where null is not allowed is refused before any field, %s",
  async (_, query) => {
    const { body } = await server.graphql(query, { v: null });
    expect(body).toEqual({
      errors: [
        {
          message: "Invalid input: v must not be null where it is used.",
          extensions: {
            code: "BAD_INPUT",
            details: [{ path: "v", message: "must not be null where it is used" }],
          },
        },
      ],
    });
  },
);

test.each([
  ["where null is allowed", `query($v: Int = 1) { ${PAGES} }`],
  [
    "where only another operation may not have it",
    `query A($v: Int = 1) { ${PAGES} } query B($v: LogType = SPAN) { ...F } fragment F on Query ${types()}`,
  ],
])("a variable with a default may be null %s", async (_, query) => {
  const operationName = query.includes("query A") ? "A" : undefined;
  const { body } = await server.post("/graphql", { query, variables: { v: null }, operationName });
  expect(body).toEqual({ data: { modelPrices: { nodes: [] } } });
});

test("a subscription refuses a variable with a default that is null where null is not allowed", async () => {
  const query =
    "subscription($v: LogType = SPAN) { logAdded { trace { logs(types: [$v]) { nodes { id } } } } }";
  const headers = { accept: "text/event-stream" };
  const { body } = await server.post("/graphql", { query, variables: { v: null } }, { headers });
  expect(String(body)).toContain("v must not be null where it is used");
});
