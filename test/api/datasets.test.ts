import { afterAll, expect, test } from "vitest";
import { openDatabase } from "../../src/database/open.ts";
import { deleteDataset, updateDataset } from "../../src/datasets/authoring.resolvers.ts";
import { datasetAnswer } from "../../src/datasets/rest.ts";
import { entities } from "../../src/entities.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset } from "../support/data.ts";
import { heard, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

const columns = [
  { name: "question", type: "text" as const },
  { name: "photo", type: "image" as const },
];

interface PageInfo {
  endCursor: string;
  hasNextPage: boolean;
}

const READ = `query($slug: String!, $first: Int, $after: String) {
  dataset(slug: $slug) { slug name columns { name type } rowCount rows(first: $first, after: $after) { nodes { id name values idealOutput metadata createdAt } pageInfo { endCursor hasNextPage } } warning createdAt }
}`;
const ADD = `mutation($slug: String!, $input: DatasetItemInput!) {
  addDatasetItem(slug: $slug, input: $input) { datasetRow { id name values idealOutput metadata createdAt } warning }
}`;

test("REST gives a dataset with its columns and all rows in the order in which they were added", async () => {
  const rows = Array.from({ length: 2_345 }, (_, index) => ({ values: { question: `Question ${index}` } }));
  await addDataset(server, { slug: "long", name: "A long one", columns, rows });
  const { status, body } = await server.get("/datasets/long");
  expect(status).toBe(200);
  expect(body).toEqual({
    dataset: {
      slug: "long",
      name: "A long one",
      columns,
      version: 4, // the rows came in three transactions
      rows: rows.map(({ values }) => ({ id: expect.any(String), values, idealOutput: null, metadata: null })),
    },
  });
});

test("a dataset without rows has an empty list of rows and no warning at both APIs", async () => {
  await addDataset(server, { slug: "empty", columns });
  expect((await server.get("/datasets/empty")).body).toEqual({
    dataset: { slug: "empty", name: "empty", columns, version: 1, rows: [] },
  });
  const { body } = await server.graphql(READ, { slug: "empty" });
  expect(body.data.dataset).toMatchObject({ rowCount: 0, rows: { nodes: [] }, warning: null });
});

test("the sample's dataset has at least 20 rows under columns of several types and fits the documented answer", async () => {
  const { body } = await server.get("/datasets/country-quiz");
  const { dataset } = datasetAnswer.strict().parse(body);
  expect(dataset.rows.length).toBeGreaterThanOrEqual(20);
  expect(new Set(dataset.columns.map(({ type }) => type)).size).toBeGreaterThanOrEqual(3);
});

test("adding a row answers 201 with the row, and the row is there when the dataset is read next", async () => {
  await addDataset(server, { slug: "growing", columns });
  const row = {
    name: "first",
    values: { question: "Why?" },
    idealOutput: "Because.",
    metadata: { by: "amina" },
  };
  const added = await server.post("/datasets/growing/items", row);
  expect(added).toMatchObject({ status: 201, body: { datasetRow: row } });
  expect(added.body).not.toHaveProperty("warning");
  const { body } = await server.get("/datasets/growing");
  const { name: _, ...stored } = added.body.datasetRow;
  expect(stored.id).toBeTypeOf("string");
  expect(body.dataset.rows).toEqual([stored]);
});

test("a row without a name is answered without the key by REST and with null by GraphQL", async () => {
  await addDataset(server, { slug: "nameless", columns });
  const rest = await server.post("/datasets/nameless/items", { values: { question: "Who?" } });
  expect(rest.body).toEqual({
    datasetRow: { id: expect.any(String), values: { question: "Who?" }, metadata: null },
  });
  const { body } = await server.graphql(ADD, { slug: "nameless", input: { values: {}, name: "" } });
  expect(body.data.addDatasetItem.datasetRow.name).toBeNull();
});

test.each([
  ["", null, undefined],
  [
    '{"source":"n8n"}',
    { source: "n8n" },
    "metadata is an object written as text; it was read as the object.",
  ],
])("the metadata of a row that a client sends as text is read: %j", async (metadata, read, warning) => {
  await addDataset(server, { slug: `text-${warning === undefined}`, columns });
  const path = `/datasets/text-${warning === undefined}/items`;
  const row = { values: { question: "Where?" }, metadata, startTime: "1700000000000" }; // rows have no times
  const { status, body } = await server.post(path, row);
  expect({ status, metadata: body.datasetRow?.metadata, warning: body.warning }).toEqual({
    status: 201,
    metadata: read,
    warning,
  });
});

test("values of columns that the dataset lacks are left out of the new row, and the warning names them", async () => {
  await addDataset(server, { slug: "strict", columns });
  const values = { question: "Where?", extraColumn1: 1, extraColumn2: 2 };
  const warning =
    "The following columns do not exist in the dataset and were omitted: extraColumn1, extraColumn2";
  const rest = await server.post("/datasets/strict/items", { values });
  expect(rest.body).toEqual({
    datasetRow: { id: expect.any(String), values: { question: "Where?" }, metadata: null },
    warning,
  });
  const graphql = await server.graphql(ADD, { slug: "strict", input: { values } });
  expect(graphql.body.data.addDatasetItem).toMatchObject({
    datasetRow: { values: { question: "Where?" } },
    warning,
  });
  expect((await server.get("/datasets/strict")).body).not.toHaveProperty("warning");
});

test("stored values of columns that the dataset no longer has are left out of the rows, and the warning names them", async () => {
  const rows = [
    { values: { question: "A", colour: "red" } },
    { values: { question: "B", colour: "blue", size: 3 } },
    { values: { question: "C" } },
  ];
  await addDataset(server, { slug: "shrunk", columns, rows });
  const warning =
    "Some rows contained columns that do not exist in the dataset and were omitted: colour, size";
  const shown = ["A", "B", "C"].map((question) => ({ question }));
  const rest = await server.get("/datasets/shrunk");
  expect(rest.body.warning).toBe(warning);
  expect(rest.body.dataset.rows.map((row: { values: unknown }) => row.values)).toEqual(shown);
  const graphql = await server.graphql(READ, { slug: "shrunk" });
  expect(graphql.body.data.dataset.warning).toBe(warning);
  expect(graphql.body.data.dataset.rows.nodes.map((row: { values: unknown }) => row.values)).toEqual(shown);
});

test("the rows of a dataset are read once for the rows and the warning", async () => {
  await addDataset(server, { slug: "once", columns, rows: [{ values: { question: "A" } }] });
  const readsFor = async (fields: string) => {
    const stop = await captureStatements(server);
    const { body } = await server.graphql(`{ dataset(slug: "once") { ${fields} } }`);
    expect(body.errors).toBeUndefined();
    return stop().filter(({ sql }) => /^select.* from "?dataset_rows/i.test(sql)).length;
  };
  expect(await readsFor("warning")).toBe(1);
  expect(await readsFor("rows { nodes { id } }")).toBe(1);
  expect(await readsFor("warning rows { nodes { values } }")).toBe(1);
});

test("values come back as they went in, whatever JSON they are", async () => {
  const odd = {
    text: "quotes \" ' ` backslash \\ line\nbreak tab\t emoji 👩‍👩‍👧 \u2028 <script>",
    "": "a column without a name",
    numbers: [0, -1.5, 1e21, 1e-7, 9007199254740991],
    like: {
      kind: "InsertQueryNode",
      sql: "'; drop table logs; --",
      constructor: 1,
      toString: null,
      $ne: null,
    },
    nothing: null,
    kind: "an ordinary name",
    yes: true,
    numberAsText: "007",
    nested: [[], {}, [null, [false]]],
  };
  const names = Object.keys(odd).map((name) => ({ name, type: "json" as const }));
  await addDataset(server, { slug: "odd", columns: names });
  await server.post("/datasets/odd/items", { values: odd, metadata: odd });
  await server.graphql(ADD, { slug: "odd", input: { values: odd, metadata: odd } });
  const { body } = await server.get("/datasets/odd");
  for (const row of body.dataset.rows) {
    expect(row).toEqual({ id: expect.any(String), values: odd, idealOutput: null, metadata: odd });
    expect(Object.keys(row.values)).toEqual(Object.keys(odd));
  }
  expect(body.dataset.rows).toHaveLength(2);
});

test("GraphQL pages rows by the cursor of the last one until none is left", async () => {
  const rows = Array.from({ length: 7 }, (_, index) => ({ values: { question: String(index) } }));
  const { rowIds } = await addDataset(server, { slug: "paged", columns, rows });
  const seen: string[] = [];
  for (let after: string | null = null; ; ) {
    const { body } = await server.graphql(READ, { slug: "paged", first: 3, after });
    const { nodes, pageInfo }: { nodes: { id: string }[]; pageInfo: PageInfo } = body.data.dataset.rows;
    expect(body.data.dataset.rowCount).toBe(7);
    seen.push(...nodes.map(({ id }) => id));
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor;
  }
  expect(seen).toEqual(rowIds);
});

test("a dataset of more than 10,000 rows comes whole by REST, and GraphQL says to page it", async () => {
  const rows = Array.from({ length: 10_001 }, (_, index) => ({ values: { question: String(index) } }));
  await addDataset(server, { slug: "huge", columns, rows });
  expect((await server.get("/datasets/huge")).body.dataset.rows).toHaveLength(10_001);
  const whole = await server.graphql('{ dataset(slug: "huge") { rows { nodes { id } } } }');
  expect(whole.body.data.dataset).toBeNull();
  expect(whole.body.errors[0].message).toContain("more than 10000 rows. Page with rows(first: 1000");
  const page = await server.graphql(
    '{ dataset(slug: "huge") { rowCount rows(first: 10000) { nodes { id } } } }',
  );
  expect(page.body.data.dataset).toMatchObject({ rowCount: 10_001 });
  expect(page.body.data.dataset.rows.nodes).toHaveLength(10_000);
});

test.each([
  ["first above 10,000", { first: 10_001 }, "first", "must be at most 10000"],
  ["first below 0", { first: -1 }, "first", "must be at least 0"],
  ["a cursor that is none", { after: "zz" }, "after", "is not a cursor of this list"],
])("a page of rows with %s is refused", async (_, page, path, message) => {
  const { body } = await server.graphql(READ, { slug: "country-quiz", ...page });
  expect(body.errors[0].extensions).toMatchObject({ code: "BAD_INPUT", details: [{ path, message }] });
});

test.each([
  "no-such-dataset",
  "Country-Quiz",
  "ünïcode 🙂",
  "a'; drop table datasets; --",
  "x".repeat(2_000),
])(
  "reading and adding to a dataset that does not exist is DATASET_NOT_FOUND at both APIs: %s",
  async (slug) => {
    const path = `/datasets/${encodeURIComponent(slug)}`;
    const expected = { code: "DATASET_NOT_FOUND" };
    expect(await server.get(path)).toMatchObject({ status: 404, body: expected });
    expect(await server.post(`${path}/items`, { values: {} })).toMatchObject({ status: 404, body: expected });
    expect((await server.graphql(READ, { slug })).body).toMatchObject({
      data: { dataset: null },
      errors: [{ extensions: expected }],
    });
    const added = await server.graphql(ADD, { slug, input: { values: {} } });
    expect(added.body).toMatchObject({ data: null, errors: [{ extensions: expected }] });
  },
);

test("what another process changes of a dataset is seen by the very next request", async () => {
  const columns = [{ name: "a", type: "text" as const }];
  await addDataset(server, { slug: "shared", columns, rows: [{ values: { a: "1" } }] });
  const read = async () => (await server.get("/datasets/shared")).body;
  expect((await read()).dataset.name).toBe("shared");
  const elsewhere = await openDatabase(server.databaseUrl, entities);
  const context = commandLineContext(elsewhere, await getWorkspaceId(elsewhere, "default"));
  await updateDataset(context, {
    slug: "shared",
    input: { name: "New name", renameColumns: [{ from: "a", to: "b" }] },
  });
  await heard(async () =>
    expect((await read()).dataset).toMatchObject({ name: "New name", rows: [{ values: { b: "1" } }] }),
  );
  const added = await server.post("/datasets/shared/items", { values: { a: "2", b: "3" } });
  expect(added.body.datasetRow.values).toEqual({ b: "3" });
  await deleteDataset(context, { slug: "shared" });
  await elsewhere.close();
  await heard(async () => expect((await server.get("/datasets/shared")).status).toBe(404));
  expect((await server.post("/datasets/shared/items", { values: {} })).status).toBe(404);
});
