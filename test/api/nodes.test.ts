import { isInterfaceType, isObjectType } from "graphql";
import { afterAll, expect, test, vi } from "vitest";
import { signIn } from "../../src/console/sessions.resolvers.ts";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { schema } from "../../src/schema.ts";
import { addDataset, addPrompt, addToken, addWorkspace } from "../support/data.ts";
import { announced, put } from "../support/files.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");
const { run } = server;

const columns = [{ name: "a", type: "text" as const }];
const dataset = await addDataset(server, { slug: "d", columns, rows: [{ values: { a: "x" } }] });
await addPrompt(server, { slug: "p", versions: [{ version: "1" }] });
const log = (await server.post("/monitor/log", { slug: "p", output: "y" })).body;
await run(
  'mutation { publishPrompt(slug: "p", input: { newTag: "production", to: { version: "1" } }) { promptTag { id } } }',
);
await run(
  'mutation { tagDatasetVersion(slug: "d", input: { tag: "gate", to: { tag: "latest" } }) { datasetTag { id } } }',
);
await run(
  'mutation { setModelPrice(input: { model: "m", inputPrice: 1, outputPrice: 1 }) { modelPrice { id } } }',
);

await server.post("/monitor/log", {});
await storeRejected(server.database);

await signIn(server.database, { token: server.token });

const uploaded = await announced(server, { fileName: "a.jpg" });
await put(uploaded.uploadUrl, Buffer.from("x"));

/** A node of each type, and a query that reads one of its fields. */
const nodes: Record<string, { id: string; field: string; value: unknown; scope?: "admin" }> = {
  Dataset: { id: (await run('{ dataset(slug: "d") { id } }')).id, field: "slug", value: "d" },
  DatasetRow: { id: dataset.rowIds[0]!, field: "values", value: { a: "x" } },
  Prompt: { id: (await run('{ prompt(slug: "p") { id } }')).id, field: "slug", value: "p" },
  PromptVersion: {
    id: (await run('{ prompt(slug: "p") { latest { id } } }')).latest.id,
    field: "version",
    value: "1",
  },
  PromptTag: {
    id: (await run('{ prompt(slug: "p") { tags { id } } }')).tags[0].id,
    field: "label",
    value: "production",
  },
  PromptTagMove: {
    id: (await run('{ prompt(slug: "p") { tagHistory { nodes { id } } } }')).tagHistory[0].id,
    field: "to",
    value: "1",
  },
  DatasetTag: {
    id: (await run('{ dataset(slug: "d") { tags { id } } }')).tags[0].id,
    field: "label",
    value: "gate",
  },
  Log: { id: log.log.id, field: "output", value: "y" },
  Trace: { id: log.trace.id, field: "name", value: "p" },
  Experiment: {
    id: (await server.post("/monitor/experiments", { featureSlug: "f", name: "e" })).body.id,
    field: "name",
    value: "e",
  },
  ModelPrice: { id: (await run("{ modelPrices { nodes { id } } }"))[0].id, field: "model", value: "m" },
  File: {
    id: (await run("query($key: String!) { file(key: $key) { id } }", { key: uploaded.fileKey })).id,
    field: "name",
    value: "a.jpg",
  },
  RejectedItem: {
    id: (await run("{ rejectedItems { nodes { id } } }"))[0].id,
    field: "code",
    value: "BAD_INPUT",
  },
  ConsoleSession: {
    id: (await run("{ consoleSessions { nodes { id } } }"))[0].id,
    field: "isCurrent",
    value: false,
    scope: "admin",
  },
  AccessToken: {
    id: (await run("{ accessTokens { nodes { id } } }"))[0].id,
    field: "name",
    value: "first",
    scope: "admin",
  },
  AuditEntry: {
    id: (await run("{ auditLog { nodes { id } } }"))[0].id,
    field: "action",
    value: "setModelPrice",
    scope: "admin",
  },
};

test("every type that implements Node is tried here", () => {
  const implementing = Object.values(schema.getTypeMap()).filter(
    (type) => isObjectType(type) && type.getInterfaces().some(({ name }) => name === "Node"),
  );
  expect(isInterfaceType(schema.getType("Node"))).toBe(true);
  expect(implementing.map(({ name }) => name).toSorted()).toEqual(Object.keys(nodes).toSorted());
});

test.each(Object.entries(nodes))(
  "node returns a %s by its id, and nodes in the order of ids",
  async (type, { id, field, value }) => {
    const selection = `{ __typename id ... on ${type} { ${field} } }`;
    const found = { __typename: type, id, [field]: value };
    expect(await run(`query ($id: ID!) { node(id: $id) ${selection} }`, { id })).toEqual(found);
    const missing = "01890a5d-ac96-774b-bcce-b302099a8057";
    const ids = [missing, id, id.toUpperCase()];
    expect(await run(`query ($ids: [ID!]!) { nodes(ids: $ids) ${selection} }`, { ids })).toEqual([
      null,
      found,
      found,
    ]);
  },
);

test.each(Object.entries(nodes))("a %s of another workspace is null", async (_, { id }) => {
  expect(await run("query ($id: ID!) { node(id: $id) { id } }", { id }, other.token)).toBeNull();
});

test.each(Object.entries(nodes).filter(([, { scope }]) => scope === "admin"))(
  "a %s is null for a token without the scope admin",
  async (_, { id }) => {
    const reader = await addToken(server, { scopes: ["read"] });
    expect(await run("query ($id: ID!) { node(id: $id) { id } }", { id }, reader.token)).toBeNull();
  },
);

test("a token without the scope read reads no node", async () => {
  const writer = await addToken(server, { scopes: ["write", "admin"] });
  expect(
    await run("query ($id: ID!) { node(id: $id) { id } }", { id: nodes.Log!.id }, writer.token),
  ).toMatchObject({
    error: { code: "FORBIDDEN" },
  });
});

test.each([
  ["an id that is none", ["x"], "ids.0"],
  ["more than 100 ids", Array(101).fill(nodes.Log!.id), "ids"],
])("nodes refuses %s", async (_, ids, path) => {
  expect(await run("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", { ids })).toMatchObject({
    error: { code: "BAD_INPUT", details: [{ path }] },
  });
});

test("nodes that are asked for one by one take as many statements as together", async () => {
  const all = Object.values(nodes).map(({ id }) => id);
  const statementsFor = async (fields: string) => {
    const stop = await captureStatements(server);
    const { body } = await server.graphql(`{ ${fields} }`);
    expect(body.errors).toBeUndefined();
    return stop().length;
  };
  const together = `nodes(ids: ${JSON.stringify(all)}) { id }`;
  await statementsFor(together); // the token is cached from then on
  const oneByOne = all.map((id, n) => `a${n}: node(id: "${id}") { id }`).join(" ");
  expect(await statementsFor(oneByOne)).toBe(await statementsFor(`again: ${together}`));
});

test("of many lists of nodes each but the first four is looked up in a turn of its own", async () => {
  const ids = JSON.stringify(Object.values(nodes).map(({ id }) => id));
  const lists = (count: number) =>
    `{ ${Array.from({ length: count }, (_, n) => `a${n}: nodes(ids: ${ids}) { id }`).join(" ")} }`;
  const turn = vi.spyOn(server.database, "turn");
  const turnsOf = async (count: number) => {
    turn.mockClear();
    expect((await server.graphql(lists(count))).body.errors).toBeUndefined();
    return turn.mock.calls.length;
  };
  const few = await turnsOf(4);
  expect(await turnsOf(30)).toBeGreaterThanOrEqual(few + 26);
  turn.mockRestore();
});

test("a deleted dataset, its rows and tags, a deleted prompt, its versions, tags and their moves are null", async () => {
  const rows = Array.from({ length: 10 }, () => ({ values: { a: "x" } }));
  const { rowIds } = await addDataset(server, { slug: "gone", columns, rows });
  await addPrompt(server, { slug: "gone", versions: [{ version: "1" }] });
  const { id: datasetId } = await run('{ dataset(slug: "gone") { id } }');
  const { id: promptId, latest } = await run('{ prompt(slug: "gone") { id latest { id } } }');
  const { datasetTag } = await run(
    'mutation { tagDatasetVersion(slug: "gone", input: { tag: "gate", to: { version: 1 } }) { datasetTag { id } dataset { id } } }',
  );
  const { promptTag, prompt } = await run(
    'mutation { publishPrompt(slug: "gone", input: { newTag: "production", to: { version: "1" } }) { promptTag { id } prompt { tagHistory { nodes { id } } } } }',
  );
  await run('mutation { deleteDataset(slug: "gone") { deletedDatasetId } }');
  await run('mutation { deletePrompt(slug: "gone") { deletedPromptId } }');
  const ids = [datasetId, rowIds[0], datasetTag.id, promptId, latest.id];
  ids.push(promptTag.id, prompt.tagHistory[0].id);
  expect(await run("query ($ids: [ID!]!) { nodes(ids: $ids) { id } }", { ids })).toEqual(ids.map(() => null));
});

test("a long row counts towards the answer for each of its versions that is asked for, though it is the same in all", async () => {
  const rows = [
    { values: { a: "x".repeat(9_000_000) } },
    ...Array.from({ length: 3 }, () => ({ values: { a: "y" } })),
  ];
  await addDataset(server, { slug: "long", columns });
  for (const row of rows) await server.post("/datasets/long/items", row);
  const { nodes: stored } = (
    await server.graphql('{ dataset(slug: "long") { rows(first: 1) { nodes { id } } } }')
  ).body.data.dataset.rows;
  const asked = (versions: number) => {
    const ids = Array.from({ length: versions }, (_, n) => `"${stored[0].id}@${n + 2}"`);
    return server.graphql(`{ nodes(ids: [${ids}]) { id } }`);
  };
  expect((await asked(3)).body.errors).toBeUndefined();
  expect((await asked(4)).body.errors).toMatchObject([{ extensions: { code: "QUERY_TOO_COMPLEX" } }]);
});

test("versions of a dataset are looked for 25 in a statement, and found in each", async () => {
  const change = (n: number) =>
    `mutation { updateDataset(slug: "renamed", input: { addColumns: [{ name: "c${n}", type: TEXT }] }) { dataset { id } } }`;
  const { id } = await addDataset(server, { slug: "renamed", columns });
  for (let n = 0; n < 30; n++) expect((await run(change(n))).error).toBeUndefined();
  const stop = await captureStatements(server);
  const ids = Array.from({ length: 30 }, (_, n) => `${id}@${n + 1}`);
  const found = await run(
    "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Dataset { columns { name } } } }",
    { ids },
  );
  const unions = stop().map(({ sql }) => sql.split(" union all ").length);
  expect(found.map((one: { columns: object[] }) => one.columns.length)).toEqual(ids.map((_, n) => n + 1));
  expect(Math.max(...unions)).toBe(25);
});
