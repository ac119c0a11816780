import { afterAll, expect, test, vi } from "vitest";
import { datasetsAnswer } from "../../src/datasets/rest.ts";
import { toCursor } from "../../src/validation/pagination.ts";
import { addToken, addWorkspace } from "../support/data.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const other = await addWorkspace(server, "other");

const { run } = server;

const CREATE =
  "mutation($slug: String!, $name: String, $columns: [DatasetColumnInput!]!) { createDataset(input: { slug: $slug, name: $name, columns: $columns }) { dataset { slug name columns { name type } rowCount rows { nodes { id } } warning } } }";
const UPDATE =
  "mutation($slug: String!, $name: String, $remove: [String!], $rename: [ColumnRenameInput!], $add: [DatasetColumnInput!]) { updateDataset(slug: $slug, input: { name: $name, removeColumns: $remove, renameColumns: $rename, addColumns: $add }) { dataset { name columns { name type } rows { nodes { values } } warning } } }";
const ADD =
  "mutation($slug: String!, $input: DatasetItemInput!) { addDatasetItem(slug: $slug, input: $input) { datasetRow { id key name values idealOutput metadata } warning } }";
const ADD_MANY =
  "mutation($slug: String!, $items: [DatasetItemInput!]!) { addDatasetItems(slug: $slug, input: { items: $items }) { datasetRows { id key values } warnings { code message path } errors { index message details { path message } } } }";

const text = (name: string) => ({ name, type: "TEXT" });
/** A column as it is stored, and as REST has it. */
const stored = (name: string, type = "text") => ({ name, type });

/** The dataset as REST shows it, which both APIs agree about. */
const read = async (slug: string) => (await server.get(`/datasets/${slug}`)).body;

test("a dataset is made from nothing, listed, filled and read", async () => {
  const columns = [text("question"), { name: "photo", type: "IMAGE" }];
  const storedColumns = [stored("question"), stored("photo", "image")];
  expect(await run(CREATE, { slug: "fresh", name: "Fresh", columns })).toEqual({
    slug: "fresh",
    name: "Fresh",
    columns,
    rowCount: 0,
    rows: [],
    warning: null,
  });
  await server.post("/datasets/fresh/items", { values: { question: "Why?" } });
  expect(await read("fresh")).toEqual({
    dataset: {
      slug: "fresh",
      name: "Fresh",
      columns: storedColumns,
      version: 2,
      rows: [{ id: expect.any(String), values: { question: "Why?" }, idealOutput: null, metadata: null }],
    },
  });
  const { body } = await server.get("/datasets");
  datasetsAnswer.strict().parse(body);
  expect(body.datasets).toContainEqual({ slug: "fresh", name: "Fresh", columns: storedColumns });
});

test("a removed column hides its values, and they come back with the column", async () => {
  await run(CREATE, { slug: "shrinking", columns: [text("a"), text("b")] });
  await run(ADD, { slug: "shrinking", input: { values: { a: "1", b: "2" } } });
  const removed = await run(UPDATE, { slug: "shrinking", remove: ["b"] });
  expect(removed).toMatchObject({ columns: [text("a")], rows: [{ values: { a: "1" } }] });
  expect(removed.warning).toBe(
    "Some rows contained columns that do not exist in the dataset and were omitted: b",
  );
  expect((await read("shrinking")).dataset.rows[0].values).toEqual({ a: "1" });
  const back = await run(UPDATE, { slug: "shrinking", add: [text("b")] });
  expect(back).toMatchObject({
    columns: [text("a"), text("b")],
    rows: [{ values: { a: "1", b: "2" } }],
    warning: null,
  });
});

test("a renamed column keeps its values under the new name, also when the old name is used again", async () => {
  await run(CREATE, { slug: "renamed", columns: [text("a"), text("b")] });
  await run(ADD, { slug: "renamed", input: { values: { a: "1", b: "2" } } });
  expect(await run(UPDATE, { slug: "renamed", rename: [{ from: "a", to: "c" }] })).toMatchObject({
    columns: [text("c"), text("b")],
    rows: [{ values: { c: "1", b: "2" } }],
  });
  expect(await run(UPDATE, { slug: "renamed", add: [text("a")] })).toMatchObject({
    rows: [{ values: { c: "1", b: "2" } }],
    warning: null,
  });
  await run(ADD, { slug: "renamed", input: { values: { a: "new", c: "old" } } });
  const { dataset } = await read("renamed");
  expect(dataset.rows.map(({ values }: { values: object }) => values)).toEqual([
    { c: "1", b: "2" },
    { a: "new", c: "old" },
  ]);
  expect(dataset.columns).toEqual([stored("c"), stored("b"), stored("a")]);
  const swapped = await run(UPDATE, {
    slug: "renamed",
    rename: [
      { from: "a", to: "c" },
      { from: "c", to: "a" },
    ],
  });
  expect(swapped.rows).toEqual([{ values: { a: "1", b: "2" } }, { values: { c: "new", a: "old" } }]);
});

test("a column that was renamed, removed and added again has its values, and the warning names it as people knew it", async () => {
  await run(CREATE, { slug: "twice", columns: [text("a")] });
  await run(ADD, { slug: "twice", input: { values: { a: "1" } } });
  await run(UPDATE, { slug: "twice", rename: [{ from: "a", to: "b" }] });
  expect((await run(UPDATE, { slug: "twice", remove: ["b"] })).warning).toMatch(/omitted: b$/);
  expect(await run(UPDATE, { slug: "twice", add: [text("b")] })).toMatchObject({
    rows: [{ values: { b: "1" } }],
    warning: null,
  });
});

test("of several removed columns of one name the last one comes back", async () => {
  await run(CREATE, { slug: "layers", columns: [text("a"), text("b")] });
  await run(ADD, { slug: "layers", input: { values: { a: "A", b: "B" } } });
  await run(UPDATE, { slug: "layers", remove: ["a"] });
  await run(UPDATE, { slug: "layers", rename: [{ from: "b", to: "a" }] });
  await run(UPDATE, { slug: "layers", remove: ["a"] });
  expect((await run(UPDATE, { slug: "layers", add: [text("a")] })).rows).toEqual([{ values: { a: "B" } }]);
});

test("a row added while its dataset is deleted is stored or refused, never a fault of ours", async () => {
  await run(CREATE, { slug: "vanishing", columns: [text("a")] });
  const adds = Array.from({ length: 30 }, (_, n) =>
    run(ADD, { slug: "vanishing", input: { values: { a: "x" }, ...(n % 2 && { key: String(n) }) } }),
  );
  const results = await Promise.all([
    ...adds,
    run('mutation { deleteDataset(slug: "vanishing") { deletedDatasetId } }'),
  ]);
  for (const result of results) if (result.error) expect(result.error.code).toBe("DATASET_NOT_FOUND");
});

test("a key adds a row once and changes it from then on, keeping its place", async () => {
  await run(CREATE, { slug: "keyed", columns: [text("a")] });
  const first = await run(ADD, { slug: "keyed", input: { key: "k1", values: { a: "1" }, name: "n" } });
  await run(ADD, { slug: "keyed", input: { values: { a: "2" } } });
  const again = await run(ADD, { slug: "keyed", input: { key: "k1", values: { a: "3" }, idealOutput: "i" } });
  expect(again.datasetRow).toEqual({
    id: first.datasetRow.id,
    key: "k1",
    name: null,
    values: { a: "3" },
    idealOutput: "i",
    metadata: null,
  });
  const rest = await server.post("/datasets/keyed/items", { key: "k1", values: { a: "4" } });
  expect(rest).toMatchObject({ status: 201, body: { datasetRow: { values: { a: "4" } } } });
  expect((await read("keyed")).dataset.rows.map(({ values }: { values: { a: string } }) => values.a)).toEqual(
    ["4", "2"],
  );
});

test("one key in many requests at once is one row", async () => {
  await run(CREATE, { slug: "raced", columns: [text("a")] });
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      run(ADD, { slug: "raced", input: { key: "k", values: { a: String(n) } } }),
    ),
  );
  expect((await read("raced")).dataset.rows).toHaveLength(1);
});

test("many rows are added at once in their order; each wrong one has its error and keeps no other out", async () => {
  await run(CREATE, { slug: "bulk", columns: [text("a")] });
  const items = [
    { values: { a: "1" }, key: "x" },
    { values: { a: "2", extra: "e" } },
    { values: { a: "bad\u0000" } },
    { values: { a: "3" }, key: "x" },
    { values: [] },
  ];
  expect(await run(ADD_MANY, { slug: "bulk", items })).toMatchObject({
    datasetRows: [{ key: "x" }, { values: { a: "2" } }, null, { values: { a: "3" } }, null],
    warnings: [
      {
        code: "COLUMN_NOT_FOUND",
        message: "The following columns do not exist in the dataset and were omitted: extra",
        path: "items.1.values",
      },
    ],
    errors: [
      { index: 2, details: [{ path: "values.a" }] },
      { index: 4, message: "Invalid input: values must be an object." },
    ],
  });
  expect(await run(ADD_MANY, { slug: "bulk", items: [...items, { values: {}, name: 5 }] })).toMatchObject({
    error: { code: "BAD_INPUT" },
  });
  expect((await read("bulk")).dataset.rows.map(({ values }: { values: { a: string } }) => values.a)).toEqual([
    "3",
    "2",
  ]);
  const many = Array.from({ length: 1_000 }, (_, n) => ({ values: { a: String(n) } }));
  expect((await run(ADD_MANY, { slug: "bulk", items: many })).datasetRows).toHaveLength(1_000);
  expect((await read("bulk")).dataset.rows).toHaveLength(1_002);
  expect(await run(ADD_MANY, { slug: "bulk", items: [...many, many[0]] })).toMatchObject({
    error: { code: "BAD_INPUT", details: [{ path: "items", message: "must have at most 1000 items" }] },
  });
});

test("a row is changed in what is given and nothing else, and removed", async () => {
  await run(CREATE, { slug: "edited", columns: [text("a"), text("b")] });
  const { datasetRow } = await run(ADD, {
    slug: "edited",
    input: { values: { a: "1", b: "2" }, name: "n", idealOutput: "i", metadata: { kind: 1 } },
  });
  const update = (args: string) =>
    run(
      `mutation { updateDatasetItem(id: "${datasetRow.id}", input: { ${args} }) { datasetRow { name values idealOutput metadata } warnings { message } } }`,
    );
  expect(await update('values: {a: "9", z: 1}')).toEqual({
    datasetRow: { name: "n", values: { a: "9", b: "2" }, idealOutput: "i", metadata: { kind: 1 } },
    warnings: [{ message: "The following columns do not exist in the dataset and were omitted: z" }],
  });
  expect((await update("name: null, idealOutput: null, metadata: null")).datasetRow).toEqual({
    name: null,
    values: { a: "9", b: "2" },
    idealOutput: null,
    metadata: null,
  });
  expect(await run(`mutation { deleteDatasetItem(id: "${datasetRow.id}") { deletedDatasetItemId } }`)).toBe(
    datasetRow.id,
  );
  expect((await read("edited")).dataset.rows).toEqual([]);
  expect(await update("")).toMatchObject({ error: { code: "ROW_NOT_FOUND" } });
  expect(
    await run(`mutation { deleteDatasetItem(id: "${datasetRow.id}") { deletedDatasetItemId } }`),
  ).toMatchObject({
    error: { code: "ROW_NOT_FOUND" },
  });
});

test.each([
  ["when it is added", '"", '],
  ["when it is changed", '"n", '],
])("the empty string as the name of a row is no name, %s", async (_, first) => {
  await run(CREATE, { slug: "nameless", columns: [] });
  const { datasetRow } = await run(
    `mutation { addDatasetItem(slug: "nameless", input: { name: ${first}values: {} }) { datasetRow { id name } } }`,
  );
  if (first === '"", ') return expect(datasetRow.name).toBeNull();
  const change = `mutation { updateDatasetItem(id: "${datasetRow.id}", input: { name: "" }) { datasetRow { name } } }`;
  expect((await run(change)).datasetRow.name).toBeNull();
});

test("a new name of a row writes nothing else of it", async () => {
  await run(CREATE, { slug: "new-name", columns: [text("a")] });
  const { datasetRow } = await run(ADD, {
    slug: "new-name",
    input: { values: { a: "1" }, metadata: { b: 2 } },
  });
  const stop = await captureStatements(server);
  const update = `mutation { updateDatasetItem(id: "${datasetRow.id}", input: { name: "n" }) { datasetRow { name values metadata } } }`;
  expect((await run(update)).datasetRow).toEqual({ name: "n", values: { a: "1" }, metadata: { b: 2 } });
  const updates = stop().flatMap(({ sql }) => (/^update .dataset_rows/.test(sql) ? [sql] : []));
  expect(updates).toHaveLength(1);
  expect(updates[0]).toContain("name");
  expect(updates[0]).not.toMatch(/values|metadata|ideal/);
});

test("a deleted dataset is gone with its rows, and its slug is free again", async () => {
  await run(CREATE, { slug: "deleted", columns: [text("a")] });
  const { datasetRow } = await run(ADD, { slug: "deleted", input: { values: { a: "1" } } });
  expect(await run('mutation { deleteDataset(slug: "deleted") { deletedDatasetId } }')).toMatch(
    /^[0-9a-f-]{36}$/,
  );
  expect((await server.get("/datasets/deleted")).status).toBe(404);
  expect(
    await run(`mutation { deleteDatasetItem(id: "${datasetRow.id}") { deletedDatasetItemId } }`),
  ).toMatchObject({
    error: { code: "ROW_NOT_FOUND" },
  });
  expect(await run(CREATE, { slug: "deleted", columns: [] })).toMatchObject({ rowCount: 0 });
});

test("datasets are searched and paged by slug", async () => {
  for (const slug of ["find-a", "find-b", "find-c"]) await run(CREATE, { slug, columns: [] });
  const slugs = async (args: string) =>
    (await run(`{ datasets(${args}) { nodes { slug } } }`)).map(({ slug }: { slug: string }) => slug);
  expect(await slugs('search: "FIND-"')).toEqual(["find-a", "find-b", "find-c"]);
  expect(await slugs('search: "find-", first: 2')).toEqual(["find-a", "find-b"]);
  expect(await slugs(`search: "find-", after: "${toCursor("find-b")}"`)).toEqual(["find-c"]);
  expect(await slugs('search: "find_"')).toEqual([]);
});

test.each([
  [
    "a slug that is taken",
    CREATE,
    { slug: "taken", columns: [] },
    "CONFLICT",
    'A dataset with the slug "taken" exists already.',
  ],
  [
    "two columns of one name",
    CREATE,
    { slug: "twins", columns: [text("a"), text("a")] },
    "CONFLICT",
    'A dataset cannot have two columns "a".',
  ],
  [
    "adding a column that is there",
    UPDATE,
    { slug: "taken", add: [text("a")] },
    "CONFLICT",
    'A dataset cannot have two columns "a".',
  ],
  [
    "renaming to a column that is there",
    UPDATE,
    { slug: "taken", rename: [{ from: "a", to: "b" }] },
    "CONFLICT",
    'A dataset cannot have two columns "b".',
  ],
  [
    "removing an unknown column",
    UPDATE,
    { slug: "taken", remove: ["z"] },
    "BAD_INPUT",
    'Invalid input: columns has no column "z".',
  ],
  [
    "renaming an unknown column",
    UPDATE,
    { slug: "taken", rename: [{ from: "z", to: "y" }] },
    "BAD_INPUT",
    'Invalid input: columns has no column "z".',
  ],
  [
    "removing and renaming a column at once",
    UPDATE,
    { slug: "taken", remove: ["a"], rename: [{ from: "a", to: "c" }] },
    "BAD_INPUT",
    'Invalid input: columns cannot remove or rename "a" more than once.',
  ],
  [
    "removing a column twice",
    UPDATE,
    { slug: "taken", remove: ["a", "a"] },
    "BAD_INPUT",
    'Invalid input: columns cannot remove or rename "a" more than once.',
  ],
  [
    "an unknown dataset",
    UPDATE,
    { slug: "nope", name: "x" },
    "DATASET_NOT_FOUND",
    'Dataset "nope" does not exist.',
  ],
  [
    "deleting an unknown dataset",
    'mutation { deleteDataset(slug: "nope") { deletedDatasetId } }',
    {},
    "DATASET_NOT_FOUND",
    'Dataset "nope" does not exist.',
  ],
  [
    "rows for an unknown dataset",
    ADD_MANY,
    { slug: "nope", items: [] },
    "DATASET_NOT_FOUND",
    'Dataset "nope" does not exist.',
  ],
])(
  "what cannot be done is an error and changes nothing: %s",
  async (_, operation, variables, code, message) => {
    await run(CREATE, { slug: "taken", columns: [text("a"), text("b")] });
    const before = await read("taken");
    expect(await run(operation, variables)).toMatchObject({ error: { code, message } });
    expect(await read("taken")).toEqual(before);
  },
);

test("datasets and rows of another workspace do not exist for any change, and their keys are their own", async () => {
  await run(CREATE, { slug: "mine", columns: [text("a")] });
  const { datasetRow } = await run(ADD, { slug: "mine", input: { key: "k", values: { a: "1" } } });
  for (const [change, code] of [
    ['updateDataset(slug: "mine", input: { name: "x" }) { dataset { slug } }', "DATASET_NOT_FOUND"],
    ['deleteDataset(slug: "mine") { deletedDatasetId }', "DATASET_NOT_FOUND"],
    [
      'addDatasetItems(slug: "mine", input: { items: [{values: {}}] }) { errors { message } }',
      "DATASET_NOT_FOUND",
    ],
    [
      `updateDatasetItem(id: "${datasetRow.id}", input: { name: "x" }) { warnings { message } }`,
      "ROW_NOT_FOUND",
    ],
    [`deleteDatasetItem(id: "${datasetRow.id}") { deletedDatasetItemId }`, "ROW_NOT_FOUND"],
  ]) {
    expect(await run(`mutation { ${change} }`, {}, other.token)).toMatchObject({ error: { code } });
  }
  await run(CREATE, { slug: "mine", columns: [text("a")] }, other.token);
  const theirs = await run(ADD, { slug: "mine", input: { key: "k", values: { a: "theirs" } } }, other.token);
  expect(theirs.datasetRow.id).not.toBe(datasetRow.id);
  expect((await read("mine")).dataset.rows).toMatchObject([{ values: { a: "1" } }]);
});

test("every change of a dataset's shape is in the audit log, and a token that may only write is refused before it", async () => {
  const { token } = await addToken(server, { scopes: ["write"] });
  expect(await run(CREATE, { slug: "audited", columns: [] }, token)).toMatchObject({
    error: { code: "FORBIDDEN" },
  });
  await run(CREATE, { slug: "audited", columns: [text("a")] });
  await run(UPDATE, { slug: "audited", add: [{ name: "b", type: "JSON" }] });
  await run('mutation { deleteDataset(slug: "audited") { deletedDatasetId } }', {}, token);
  expect(await run("{ auditLog(first: 3) { nodes { action subject token before after } } }")).toEqual([
    {
      action: "deleteDataset",
      subject: "audited",
      token: "test",
      before: { name: "audited", columns: [stored("a"), stored("b", "json")] },
      after: null,
    },
    {
      action: "updateDataset",
      subject: "audited",
      token: "first",
      before: { name: "audited", columns: [stored("a")] },
      after: { name: "audited", columns: [stored("a"), stored("b", "json")] },
    },
    {
      action: "createDataset",
      subject: "audited",
      token: "first",
      before: null,
      after: { name: "audited", columns: [stored("a")] },
    },
  ]);
});

test("the audit log tells of a change in which one column takes the name of another", async () => {
  await run(CREATE, { slug: "swapped", columns: [text("a"), text("b")] });
  await run(UPDATE, {
    slug: "swapped",
    remove: ["a"],
    rename: [{ from: "b", to: "a" }],
    add: [text("b")],
  });
  expect(await run("{ auditLog(first: 1) { nodes { action before after } } }")).toEqual([
    {
      action: "updateDataset",
      before: { name: "swapped", columns: [stored("a"), stored("b")] },
      after: {
        name: "swapped",
        columns: [
          { ...stored("a"), key: "b" },
          { ...stored("b"), key: "b#2" },
        ],
      },
    },
  ]);
});

const FROM_LOG =
  "mutation($logId: ID!, $slug: String!, $columns: [LogColumnInput!]) { addLogToDataset(slug: $slug, input: { logId: $logId, columns: $columns }) { datasetRow { values idealOutput metadata log { id output } } warnings { message } } }";

test("a logged call becomes a row, by the names of the columns or as given, and is linked to its log", async () => {
  await run(CREATE, { slug: "from-logs", columns: [text("input"), text("answer"), text("country")] });
  const record = {
    slug: "ghost",
    input: { q: "Capital?" },
    output: "Nairobi",
    idealOutput: ["Nairobi"],
    variables: [{ label: "country", value: "Kenya" }],
    metadata: { kind: "m" },
  };
  const logId = (await server.post("/monitor/log", record)).body.log.id;
  const row = { idealOutput: '["Nairobi"]', metadata: { kind: "m" }, log: { id: logId, output: "Nairobi" } };
  expect(await run(FROM_LOG, { logId, slug: "from-logs" })).toEqual({
    datasetRow: { ...row, values: { input: { q: "Capital?" }, country: "Kenya" } },
    warnings: [],
  });
  const columns = [
    { column: "answer", from: "OUTPUT" },
    { column: "input", from: "VARIABLE", variable: "country" },
    { column: "gone", from: "INPUT" },
  ];
  expect(await run(FROM_LOG, { logId, slug: "from-logs", columns })).toEqual({
    datasetRow: { ...row, values: { answer: "Nairobi", input: "Kenya" } },
    warnings: [{ message: "The following columns do not exist in the dataset and were omitted: gone" }],
  });
  const wrong = [{ column: "input", from: "VARIABLE", variable: "nope" }];
  expect(await run(FROM_LOG, { logId, slug: "from-logs", columns: wrong })).toMatchObject({
    error: { code: "BAD_INPUT", details: [{ path: "columns.0.variable" }] },
  });
  expect(await run(FROM_LOG, { logId, slug: "nope" })).toMatchObject({
    error: { code: "DATASET_NOT_FOUND" },
  });
  await run(CREATE, { slug: "from-logs", columns: [text("input")] }, other.token);
  expect(await run(FROM_LOG, { logId, slug: "from-logs" }, other.token)).toMatchObject({
    error: { code: "LOG_NOT_FOUND" },
  });
  expect(await run(FROM_LOG, { logId: logId.replace(/^...../, "00000"), slug: "from-logs" })).toMatchObject({
    error: { code: "LOG_NOT_FOUND" },
  });
  expect((await read("from-logs")).dataset.rows).toHaveLength(2);
});

test("a column takes the part of a log that has its name, else the first variable, whichever other columns there are", async () => {
  const labels = ["input", "output", "x", "x"];
  const variables = labels.map((label, n) => ({ label, value: `variable ${n}` }));
  const record = { slug: "ghost", input: "in", output: "out", variables };
  const logId = (await server.post("/monitor/log", record)).body.log.id;
  const taken = async (...names: string[]) => {
    const slug = `of-${names.join("-")}`;
    await run(CREATE, { slug, columns: names.map(text) });
    return (await run(FROM_LOG, { logId, slug })).datasetRow.values;
  };
  expect(await taken("input", "output", "x")).toEqual({ input: "in", output: "out", x: "variable 2" });
  for (const [name, value] of [
    ["input", "in"],
    ["output", "out"],
    ["x", "variable 2"],
  ] as const)
    expect(await taken(name)).toEqual({ [name]: value });
});

test("a thousand columns find their variables without a look at each, and the first of equal labels", async () => {
  const labels = Array.from({ length: 999 }, (_, n) => `v${n}`);
  const variables = [...labels, "v0"].map((label, n) => ({ label, value: `${n}` }));
  const { body } = await server.post("/monitor/log", { slug: "ghost", output: 1, variables });
  await run(CREATE, { slug: "wide-log", columns: labels.map(text) });
  const columns = labels.map((label) => ({ column: label, from: "VARIABLE", variable: label }));
  const find = vi.spyOn(Array.prototype, "find");
  const { datasetRow } = await run(FROM_LOG, { logId: body.log.id, slug: "wide-log", columns });
  const searches = (find.mock.contexts as unknown[][]).filter(({ length }) => length === 1_000).length;
  find.mockRestore();
  expect(searches).toBe(0);
  expect(datasetRow.values).toEqual(Object.fromEntries(labels.map((label, n) => [label, `${n}`])));
});

test.each<[string, unknown, string | null]>([
  ["a text", 'Nairobi, "the" capital', 'Nairobi, "the" capital'],
  ["an object", { city: "Nairobi" }, '{"city":"Nairobi"}'],
  ["nothing", null, null],
])("the ideal output of a call becomes that of its row, as text: %s", async (kind, idealOutput, stored) => {
  const slug = `ideal-${kind.replaceAll(" ", "-")}`;
  await run(CREATE, { slug, columns: [] });
  const { body } = await server.post("/monitor/log", { slug: "ghost", output: 1, idealOutput });
  const { datasetRow } = await run(FROM_LOG, { logId: body.log.id, slug });
  expect(datasetRow.idealOutput).toBe(stored);
});

test.each([
  ["createDataset", ", columns: []", "dataset"],
  ["createPrompt", "", "prompt"],
])("%s takes slugs of up to 128 characters", async (create, more, made) => {
  const withSlug = (slug: string) =>
    run(`mutation { ${create}(input: { slug: "${slug}"${more} }) { ${made} { slug } } }`);
  const longest = "x".repeat(128);
  expect(await withSlug(longest)).toEqual({ slug: longest });
  expect(await withSlug(`${longest}x`)).toMatchObject({
    error: { code: "BAD_INPUT", details: [{ path: "slug", message: "must have at most 128 characters" }] },
  });
});
