import { type GraphQLOutputType, getNamedType, isObjectType } from "graphql";
import { afterAll, expect, test } from "vitest";
import { schema } from "../../src/schema.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { UPDATE } from "../support/datasetHistory.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const MAX_DEPTH = 4;

/** Selects all fields that take no arguments: a cache distinguishes fields by their arguments. */
function selectionOf(output: GraphQLOutputType, depth = 0): string {
  const type = getNamedType(output);
  if (!isObjectType(type)) return "";
  const fields = Object.values(type.getFields())
    .filter(({ args, type }) => args.length === 0 && (depth < MAX_DEPTH || !isObjectType(getNamedType(type))))
    .map((field) => `${field.name} ${selectionOf(field.type, depth + 1)}`);
  return `{ __typename ${fields.join(" ")} }`;
}

const selectionOfQuery = (field: string) => selectionOf(schema.getQueryType()!.getFields()[field]!.type);

/** Stores the objects that have an id as a cache of a client does; returns a reference in place of such an object. */
function normalize(value: unknown, cache: Map<string, Record<string, unknown>>): unknown {
  if (Array.isArray(value)) return value.map((one) => normalize(one, cache));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, normalize(one, cache)] as const);
  const object: Record<string, unknown> = Object.fromEntries(entries);
  if (object.id === undefined) return object;
  const key = `${object.__typename}:${object.id}`;
  const cached = cache.get(key) ?? {};
  for (const [name, one] of entries)
    if (name in cached) expect.soft(one, `${key} ${name}`).toEqual(cached[name]);
  cache.set(key, { ...cached, ...object });
  return { __ref: key };
}

async function cacheOf(queries: string[]) {
  const cache = new Map<string, Record<string, unknown>>();
  for (const query of queries) {
    const { data, errors } = (await server.graphql(query)).body;
    expect(errors).toBeUndefined();
    normalize(data, cache);
  }
  return cache;
}

test("two versions of a prompt give no object of one id two values", async () => {
  await addPrompt(server, {
    slug: "guide",
    versions: ["1.0.0", "2.0.0"].map((version) => ({
      version,
      text: `{{ name${version[0]} }}`,
      variables: [{ label: `name${version[0]}`, type: "string", description: null }],
    })),
    tags: { production: "1.0.0", staging: "2.0.0" },
  });
  const choices = ['version: "1.0.0"', 'version: "2.0.0"', 'tag: "staging"', 'tag: "none"'];
  const cache = await cacheOf([
    ...choices.flatMap((choice) =>
      ["describePrompt", "servedPrompt", "renderPrompt"].map(
        (field) => `{ ${field}(slug: "guide", ${choice}) ${selectionOfQuery(field)} }`,
      ),
    ),
    `{ prompt(slug: "guide") ${selectionOfQuery("prompt")} }`,
  ]);
  expect([...cache.keys()].filter((key) => key.startsWith("PromptVersion:"))).toHaveLength(2);
  expect([...cache.keys()].filter((key) => key.startsWith("Prompt:"))).toHaveLength(1);
});

test("two versions of a dataset give no object of one id two values", async () => {
  await addDataset(server, {
    slug: "capitals",
    columns: [{ name: "country", type: "text" }],
    rows: [{ values: { country: "Chad" } }],
  });
  await server.run(UPDATE, {
    slug: "capitals",
    input: { renameColumns: [{ from: "country", to: "nation" }] },
  });
  const selection = selectionOfQuery("dataset").replace("{", "{ rows { nodes { __typename id values } }");
  const cache = await cacheOf([
    ...["", ", version: 1", ", version: 2", ", version: 3", ', tag: "latest"'].map(
      (choice) => `{ dataset(slug: "capitals"${choice}) ${selection} }`,
    ),
  ]);
  expect([...cache.keys()].filter((key) => key.startsWith("DatasetRow:"))).toHaveLength(3);
});
