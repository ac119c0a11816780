import { randomUUID } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { afterAll, expect, test, vi } from "vitest";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const { run } = server;
const workspace = await getWorkspaceId(server.database, "default");

const UPDATE =
  "mutation($slug: String!, $remove: [String!], $rename: [ColumnRenameInput!], $add: [DatasetColumnInput!]) { updateDataset(slug: $slug, input: { removeColumns: $remove, renameColumns: $rename, addColumns: $add }) { dataset { columns { name } rowCount } } }";
const columnsNamed = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `${prefix}${n}`, type: "text" as const }));
/** The same columns as GraphQL takes them. */
const inputs = (prefix: string, count: number) =>
  columnsNamed(prefix, count).map(({ name }) => ({ name, type: "TEXT" }));
const namesOf = (columns: { name: string }[]) => columns.map(({ name }) => name);
const refused = (message: RegExp) => ({
  error: { code: "BAD_INPUT", message: expect.stringMatching(message) },
});

test("a dataset has at most 1,000 columns, and as many removed ones; what is more is refused, and nothing changes", async () => {
  await addDataset(server, { slug: "capped", columns: columnsNamed("a", 999) });
  const add = (prefix: string, count: number) => run(UPDATE, { slug: "capped", add: inputs(prefix, count) });
  expect(await add("b", 2)).toMatchObject(refused(/1001 columns.* at most 1000/));
  expect((await add("b", 1)).columns).toHaveLength(1_000);
  const remove = namesOf(columnsNamed("a", 999));
  expect((await run(UPDATE, { slug: "capped", remove })).columns).toEqual([{ name: "b0" }]);
  await add("c", 2);
  expect(await run(UPDATE, { slug: "capped", remove: ["c0", "c1"] })).toMatchObject(
    refused(/1001 removed columns.* at most 1000/),
  );
  expect((await add("a", 1)).columns.at(-1)).toEqual({ name: "a0" });
});

const CREATE =
  'mutation($columns: [DatasetColumnInput!]!) { createDataset(input: { slug: "lengthy", columns: $columns }) { dataset { columns { name } } } }';

test("the columns of a dataset take 256 kB as JSON, with their keys and the removed ones; what is more is refused", async () => {
  const long = "\u0001".repeat(35); // 210 bytes of JSON
  const tooLarge = refused(/would take \d+ bytes as JSON.* at most 262144/);
  expect(await run(CREATE, { columns: inputs(`${long}${long}`, 1_000) })).toMatchObject(tooLarge);
  const names = inputs(long, 1_000).map(({ name }) => name);
  expect((await run(CREATE, { columns: inputs(long, 1_000) })).columns).toHaveLength(1_000);
  const renamed = (count: number) => names.slice(0, count).map((from, n) => ({ from, to: `${long}new${n}` }));
  expect(await run(UPDATE, { slug: "lengthy", rename: renamed(200) })).toMatchObject(tooLarge);
  expect((await run(UPDATE, { slug: "lengthy", rename: renamed(50) })).columns).toHaveLength(1_000);
  expect((await run(UPDATE, { slug: "lengthy", remove: names.slice(50) })).columns).toHaveLength(50);
  expect(await run(UPDATE, { slug: "lengthy", add: inputs(`${long}other`, 100) })).toMatchObject(tooLarge);
  expect((await server.get("/datasets/lengthy")).body.dataset.columns).toHaveLength(50);
});

test("a dataset that has more columns from before is read, and changed to as many or fewer", async () => {
  const many = columnsNamed("a", 20_000);
  await addDataset(server, { slug: "old", columns: many, rows: [{ values: { a0: "0", a19999: "1" } }] });
  expect((await server.get("/datasets/old")).body.dataset.columns).toHaveLength(20_000);
  expect(await run(UPDATE, { slug: "old", add: inputs("b", 1) })).toMatchObject(refused(/at most 1000/));
  const remove = namesOf(columnsNamed("a", 1_000));
  const { columns } = await run(UPDATE, { slug: "old", remove, add: inputs("b", 1_000) });
  expect(columns).toHaveLength(20_000);
  expect(columns.at(-1)).toEqual({ name: "b999" });
  expect((await server.get("/datasets/old")).body.dataset.rows[0].values).toEqual({ a19999: "1" });
});

const CREATE_VERSION =
  "mutation($slug: String!, $input: PromptVersionInput!) { createPromptVersion(slug: $slug, input: $input) { promptVersion { version variables { label } } } }";

test("the variables of a version have at most 1,000,000 characters together", async () => {
  await addPrompt(server, { slug: "described" });
  const create = (version: string, count: number) => {
    const described = (_: unknown, n: number) => ({ label: `v${n}`, description: "d".repeat(9_900) });
    const variables = Array.from({ length: count }, described);
    return run(CREATE_VERSION, { slug: "described", input: { version, text: "x", variables } });
  };
  expect(await create("1", 101)).toMatchObject(refused(/variables must not be larger than 1,000,000/));
  expect((await create("1", 99)).promptVersion.variables).toHaveLength(99);
});

test("a version has at most 1,000 variables, those that its texts use among them", async () => {
  await addPrompt(server, { slug: "texts" });
  const text = (count: number) => Array.from({ length: count }, (_, n) => `{{v${n}}}`).join("");
  const create = (version: string, count: number) =>
    run(CREATE_VERSION, { slug: "texts", input: { version, text: text(count) } });
  expect(await create("1", 1_001)).toMatchObject(refused(/variables would be 1001.* at most 1000/));
  expect((await server.get("/prompts/texts/describe")).body.prompt.availableVersions).toEqual([]);
  expect((await create("1", 1_000)).promptVersion.variables).toHaveLength(1_000);
});

test("lists of prompts count the names of versions: 45,000 of 256 characters are refused by both APIs", async () => {
  await using other = await startServer();
  const ofOther = await getWorkspaceId(other.database, "default");
  const createdAt = new Date();
  for (let n = 0; n < 5; n++) {
    const { id: prompt } = await addPrompt(other, { slug: `names${n}`, versions: [] });
    const rows = Array.from({ length: 9_000 }, (_, at) => ({
      ...{ id: uuidv7(), workspace: ofOther, prompt, version: `${at}`.padStart(256, "☃"), text: "" },
      ...{ systemText: null, model: null, variables: [], createdAt },
    }));
    for (let from = 0; from < rows.length; from += 1_000)
      await other.database.commit(rows.slice(from, from + 1_000).map((row) => ["PromptVersion", row]));
  }
  expect((await other.get("/prompts")).body.code).toBe("QUERY_TOO_COMPLEX");
  const answer = await other.graphql("{ prompts { nodes { availableVersions } } }");
  expect(JSON.stringify(answer)).toContain("QUERY_TOO_COMPLEX");
});

test("a prompt has at most 10,000 versions and 1,000 tags", async () => {
  const { id: prompt } = await addPrompt(server, { slug: "full", versions: [{ version: "0" }] });
  const createdAt = new Date();
  const more = Array.from({ length: 9_998 }, (_, n) => ({
    ...{ id: uuidv7(), workspace, prompt, version: `${n + 1}`, text: "", systemText: null },
    ...{ model: null, variables: [], createdAt },
  }));
  for (let from = 0; from < more.length; from += 1_000)
    await server.database.commit(more.slice(from, from + 1_000).map((row) => ["PromptVersion", row]));
  const create = (version: string) => run(CREATE_VERSION, { slug: "full", input: { version, text: "x" } });
  expect((await create("last")).promptVersion.version).toBe("last");
  expect(await create("beyond")).toMatchObject(refused(/at most 10000 versions/));
  const tags = Array.from({ length: 1_000 }, (_, n) => ({
    ...{ id: uuidv7(), workspace, prompt, label: `t${n}`, version: more[n]!.id, createdAt },
  }));
  await server.database.commit(tags.map((row) => ["PromptTag", row]));
  const publish = (newTag: string) =>
    run(
      `mutation { publishPrompt(slug: "full", input: { newTag: "${newTag}", to: { version: "0" } }) { promptTag { label } } }`,
    );
  expect(await publish("production")).toMatchObject(refused(/at most 1000 tags/));
  expect(await publish("t0")).toEqual({ label: "t0" });
});

test.each([
  ["prompt", "setTagProtection"],
  ["dataset", "setDatasetTagProtection"],
])(
  "a %s has at most 100 protected tags, which its row holds, and those it has can be changed",
  async (kind, field) => {
    await (kind === "prompt"
      ? addPrompt(server, { slug: "guarded" })
      : addDataset(server, { slug: "guarded", columns: [] }));
    const set = (tag: string, isProtected = true) =>
      `${tag}: ${field}(slug: "guarded", input: { tag: "${tag}", protected: ${isProtected} }) { __typename }`;
    const tags = Array.from({ length: 100 }, (_, n) => `t${n}`);
    for (let from = 0; from < tags.length; from += 25)
      await server.run(
        `mutation { ${tags
          .slice(from, from + 25)
          .map((tag) => set(tag))
          .join(" ")} }`,
      );
    const send = (mutation: string) => server.run(`mutation { ${mutation} }`);
    expect(await send(set("beyond"))).toMatchObject(refused(/at most 100 protected tags/));
    expect(await send(set("t5"))).not.toHaveProperty("error");
    expect(await send(set("t5", false))).not.toHaveProperty("error");
    expect(await send(set("beyond"))).not.toHaveProperty("error");
  },
);

test("an answer that is too long to be kept for its key has nothing stored; shorter it may come with the same key", async () => {
  await addDataset(server, { slug: "keyed", columns: columnsNamed("a", 1) });
  const text = "x".repeat(300_000);
  const add = async (times: number) => {
    const rows = Array.from({ length: times }, (_, n) => `r${n}: datasetRow { values }`).join(" ");
    const mutation = `mutation($a: JSON!) { addDatasetItem(slug: "keyed", input: { values: { a0: $a } }) { ${rows} } }`;
    const send = () => server.graphql(mutation, { a: text }, { headers: { "idempotency-key": "long" } });
    let answer = await send();
    while (answer.body.errors?.[0].extensions.code === "TIMED_OUT") answer = await send(); // on a busy machine
    return answer;
  };
  const rowCount = () => run('{ dataset(slug: "keyed") { rowCount } }');
  expect((await add(14)).body.errors).toMatchObject([
    { message: expect.stringMatching(/^Nothing was stored/), extensions: { code: "QUERY_TOO_COMPLEX" } },
  ]);
  expect(await rowCount()).toEqual({ rowCount: 0 });
  const { body } = await add(13);
  expect(body.data.addDatasetItem.r12.values.a0).toBe(text);
  expect((await add(13)).headers["idempotent-replayed"]).toBe("true");
  expect(await rowCount()).toEqual({ rowCount: 1 });
});

test("texts of prompts that an answer serves or compares count towards it, also where it has none of them", async () => {
  await server.graphql('mutation { createPrompt(input: { slug: "served" }) { __typename } }');
  const create =
    'mutation($input: PromptVersionInput!) { createPromptVersion(slug: "served", input: $input) { __typename } }';
  const text = "x".repeat(490_000);
  const texts = { text, systemText: text, messages: [{ role: "user", content: text }] };
  for (const version of ["1.0.0", "2.0.0"])
    expect((await server.graphql(create, { input: { version, ...texts } })).body.errors).toBeUndefined();
  const long = { a: "x".repeat(900_000) };
  const variables = Array.from({ length: 90 }, (_, n) => ({
    label: `v${n}`,
    description: "x".repeat(9_900),
  }));
  const details = { text: "x", model: { model: "m", parameters: long }, variables };
  const { errors } = (await server.graphql(create, { input: { version: "3.0.0", ...details } })).body;
  expect(errors).toBeUndefined();
  const deep = (value: number) =>
    JSON.parse(`${"[".repeat(90)}${value}${`,${value}`.repeat(25_000)}${"]".repeat(90)}`);
  for (const [version, value] of [
    ["4.0.0", 1],
    ["5.0.0", 2],
  ] as const) {
    const input = { version, text: "x", model: { model: "m", parameters: { deep: deep(value) } } };
    expect((await server.graphql(create, { input })).body.errors).toBeUndefined();
  }
  const ask = async (field: string, times: number) => {
    const fields = Array.from({ length: times }, (_, n) => `a${n}: ${field}`);
    return (await server.graphql(`{ ${fields.join(" ")} }`)).body.errors?.[0].extensions.code;
  };
  for (const [field, few, many] of [
    ['servedPrompt(slug: "served", version: "1.0.0") { version }', 20, 25],
    ['servedPrompt(slug: "served", version: "3.0.0") { version }', 15, 20],
    ['describePrompt(slug: "served", version: "3.0.0") { slug }', 15, 20],
    ['promptDiff(slug: "served", from: "1.0.0", to: "2.0.0")', 7, 10],
    ['promptDiff(slug: "served", from: "4.0.0", to: "5.0.0")', 1, 2],
  ] as const) {
    expect(await ask(field, few)).toBeUndefined();
    expect(await ask(field, many)).toBe("QUERY_TOO_COMPLEX");
  }
});

test("ids that all types are asked for count 10 kB each", async () => {
  await addDataset(server, { slug: "beside", columns: columnsNamed("c", 1) });
  await server.post("/datasets/beside/items", { values: { c0: "x".repeat(4_900_000) } });
  const row = 'row: dataset(slug: "beside") { rows { nodes { values } } }';
  const unknown = (aliases: number) =>
    Array.from({ length: aliases }, (_, n) => `a${n}: nodes(ids: $ids) { id }`).join(" ");
  const ask = async (aliases: number) => {
    const ids = Array.from({ length: 100 }, () => randomUUID());
    const query = `query($ids: [ID!]!) { ${row} ${unknown(aliases)} }`;
    return (await server.graphql(query, { ids })).body.errors?.[0].extensions.code;
  };
  expect(await ask(20)).toBeUndefined();
  expect(await ask(29)).toBe("QUERY_TOO_COMPLEX");
});

test("rows that mutations change count towards the answer, and one beyond it is not changed", async () => {
  await addDataset(server, { slug: "changed", columns: columnsNamed("c", 1) });
  const { body } = await server.post("/datasets/changed/items", { values: { c0: "x".repeat(5_000_000) } });
  const { id } = body.datasetRow;
  const change = (n: number) =>
    `a${n}: updateDatasetItem(id: "${id}", input: { name: "n${n}" }) { datasetRow { name } }`;
  const fields = Array.from({ length: 8 }, (_, n) => change(n));
  const changed = await server.graphql(`mutation { ${fields.join(" ")} }`);
  expect(changed.body.errors[0]).toMatchObject({ path: ["a6"], extensions: { code: "QUERY_TOO_COMPLEX" } });
  expect(await run('{ dataset(slug: "changed") { rows { nodes { name } } } }')).toMatchObject({
    rows: [{ name: "n5" }],
  });
});

test("a row of megabytes comes with a key, and is added once", async () => {
  await addDataset(server, { slug: "rows", columns: columnsNamed("a", 1) });
  const body = { values: { a0: "x".repeat(3_000_000) } };
  const add = () => server.post("/datasets/rows/items", body, { headers: { "idempotency-key": "row" } });
  const first = await add();
  expect(first.status).toBe(201);
  const again = await add();
  expect(again.headers["idempotent-replayed"]).toBe("true");
  expect(JSON.stringify(again.body) === JSON.stringify(first.body)).toBe(true);
});

test("a description has at most 10,000 characters, and what models are called at most 512", async () => {
  const describe =
    'mutation($text: String!) { createPrompt(input: { slug: "long", description: $text }) { prompt { slug } } }';
  expect(await run(describe, { text: "x".repeat(10_001) })).toMatchObject(refused(/description.*10000/));
  expect(await run(describe, { text: "x".repeat(10_000) })).toEqual({ slug: "long" });
  const create = (model: object) =>
    run(CREATE_VERSION, { slug: "long", input: { version: "1", text: "x", model } });
  for (const name of ["model", "provider", "client", "version"])
    expect(await create({ model: "m", [name]: "x".repeat(513) })).toMatchObject(refused(/512/));
});

await addPrompt(server, { slug: "bounded", versions: [{ version: "0" }] });
await addDataset(server, { slug: "bounded", columns: columnsNamed("a", 1) });
const CHANGE_PROMPT =
  'mutation($name: String) { updatePrompt(slug: "bounded", input: { name: $name }) { prompt { name } } }';
const CHANGE_DATASET =
  'mutation($name: String) { updateDataset(slug: "bounded", input: { name: $name }) { dataset { name } } }';
const PUBLISH_AS =
  'mutation($tag: String!) { publishPrompt(slug: "bounded", input: { newTag: $tag, to: { version: "0" } }) { promptTag { label } } }';
const TAG_AS =
  'mutation($tag: String!) { tagDatasetVersion(slug: "bounded", input: { tag: $tag, to: { version: 1 } }) { __typename } }';
const ADD_ROW =
  'mutation($key: String) { addDatasetItem(slug: "bounded", input: { values: {}, key: $key }) { datasetRow { key } } }';
const LOG_STEPS =
  "mutation($logs: [LogOfTraceInput!]!) { logTrace(input: { logs: $logs }) { trace { id } } }";
const newVersion = (version: string, more: object = {}) =>
  run(CREATE_VERSION, { slug: "bounded", input: { version, text: "x", ...more } });
const withSource = (source: object) => newVersion(uuidv7(), { source: { commit: "c0ffee", ...source } });

test.each<[string, number, (text: string) => Promise<unknown>]>([
  ["a text of a version", 500_000, (text) => newVersion(uuidv7(), { text })],
  ["a text of a version for the system", 500_000, (systemText) => newVersion(uuidv7(), { systemText })],
  ["the name of a version", 256, (version) => newVersion(version)],
  ["the commit of a version", 128, (commit) => withSource({ commit })],
  ["the author of a version", 1_000, (author) => withSource({ author })],
  ["the message of a commit", 1_000, (message) => withSource({ message })],
  ["the name of a prompt", 256, (name) => run(CHANGE_PROMPT, { name })],
  ["a tag of a prompt", 128, (tag) => run(PUBLISH_AS, { tag })],
  ["the name of a dataset", 256, (name) => run(CHANGE_DATASET, { name })],
  ["the name of a column", 256, (name) => run(UPDATE, { slug: "bounded", add: [{ name, type: "TEXT" }] })],
  ["a tag of a dataset", 128, (tag) => run(TAG_AS, { tag })],
  ["the key of a row", 512, (key) => run(ADD_ROW, { key })],
  ["the id of a step", 1_024, (id) => run(LOG_STEPS, { logs: [{ id, type: "EVENT", name: "a" }] })],
  [
    "the id of the parent of a step",
    1_024,
    (parentId) => run(LOG_STEPS, { logs: [{ id: "a", parentId, type: "EVENT", name: "a" }] }),
  ],
])("%s has at most %d characters", async (_, most, store) => {
  expect(await store("x".repeat(most))).not.toHaveProperty("error");
  expect(await store("x".repeat(most + 1))).toMatchObject(refused(new RegExp(`at most ${most} characters`)));
});

test.each([
  [0, 31_000, 32_000],
  [0.5, 2_300, 2_400], // a fraction takes longer to write
])(
  "parameters of a model have at most 1,000,000 characters, with those for each value such as %d",
  async (value, some, more) => {
    const slug = `parameters-${some}`;
    await addPrompt(server, { slug });
    const create = (values: number) =>
      run(CREATE_VERSION, {
        slug,
        input: {
          version: `${values}`,
          text: "x",
          model: { model: "m", parameters: { a: Array(values).fill(value) } },
        },
      });
    expect(await create(more)).toMatchObject(refused(/parameters must not be larger than 1,000,000/));
    expect((await create(some)).promptVersion.version).toBe(`${some}`);
  },
);

test.each([
  ["the slug", { slug: "x".repeat(513), output: "o" }],
  ["the id of a user", { slug: "x", output: "o", user: { id: "x".repeat(513) } }],
  ["the id of an organization", { slug: "x", output: "o", organization: { id: "x".repeat(513) } }],
  ["the name of a user", { slug: "x", output: "o", user: { id: "x", name: "x".repeat(513) } }],
  [
    "the name of an organization",
    { slug: "x", output: "o", organization: { id: "x", name: "x".repeat(513) } },
  ],
])("what logs are found and listed by has at most 512 characters: %s", async (_, log) => {
  const { status, body } = await server.post("/monitor/log", log);
  expect([status, body.code]).toEqual([400, "BAD_INPUT"]);
  expect(body.error).toContain("512");
});

test("the ids of a user and an organization have 4 MB in all logs of a trace", async () => {
  const logs = (count: number) => Array.from({ length: count }, (_, n) => ({ id: String(n), type: "event" }));
  const trace = { user: { id: "€".repeat(512) }, organization: { id: "x".repeat(512) } };
  const { status, body } = await server.post("/monitor/trace", { ...trace, logs: logs(2_049) });
  expect([status, body.code]).toEqual([400, "BAD_INPUT"]);
  expect(body.error).toMatch(/logs must be fewer, or the ids of the user .* shorter/);
  expect(await server.post("/monitor/trace", { ...trace, logs: logs(2_048) })).toMatchObject({ status: 200 });
});

test("a row that is added has at most 50,000 members of objects, and a longer one is refused alone", async () => {
  await addDataset(server, { slug: "members", columns: columnsNamed("c", 2) });
  const lists = (count: number) => Array.from({ length: count }, () => [{ m: 1 }]);
  const most = { values: { c0: lists(40_000) }, metadata: { list: lists(9_998) } };
  const tooMany = { values: { c0: lists(40_000) }, metadata: { list: lists(9_999) } };
  const message = expect.stringMatching(/values must have at most 50,000 members of objects/);
  const post = (row: object) => server.post("/datasets/members/items", row);
  expect(await post(most)).toMatchObject({ status: 201 });
  expect(await post(tooMany)).toMatchObject({ status: 400, body: { error: message } });
  const add =
    'mutation($items: [DatasetItemInput!]!) { addDatasetItems(slug: "members", input: { items: $items }) { datasetRows { name } errors { index code message } } }';
  expect(await run(add, { items: [tooMany, { name: "short", values: {} }] })).toEqual({
    datasetRows: [null, { name: "short" }],
    errors: [{ index: 0, code: "BAD_INPUT", message }],
  });
});

test("metadata of a log or a trace has at most 10,000 members at all depths, and more is refused by both APIs", async () => {
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, n]));
  const metadataOf = (count: number) => ({ list: [members(5_000), { of: members(count - 5_002) }] });
  const log = (count: number) => ({ slug: "x", output: "y", metadata: metadataOf(count) });
  const trace = (count: number) => ({ name: "x", metadata: metadataOf(count) });
  const step = (count: number) => ({ id: "1", type: "span", metadata: metadataOf(count) });
  const logPrompt = (input: object) =>
    run("mutation($i: LogPromptInput!) { logPrompt(input: $i) { __typename } }", { i: input });
  const logTrace = (input: object) =>
    run("mutation($i: LogTraceInput!) { logTrace(input: $i) { __typename } }", { i: input });
  const asText = { ...log(0), metadata: JSON.stringify(metadataOf(10_001)) };
  const message = "metadata must have at most 10,000 members at all depths";
  for (const [path, most, tooMany, where] of [
    ["/monitor/log", log(10_000), log(10_001), ""],
    ["/monitor/log", log(10_000), asText, ""],
    ["/monitor/trace", trace(10_000), trace(10_001), ""],
    ["/monitor/trace", { name: "x", logs: [step(10_000)] }, { name: "x", logs: [step(10_001)] }, "logs.0."],
  ] as const) {
    expect(await server.post(path, most)).toMatchObject({ status: 200 });
    const error = expect.stringContaining(`${where}${message}`);
    expect(await server.post(path, tooMany)).toMatchObject({
      status: 400,
      body: { code: "BAD_INPUT", error },
    });
  }
  expect(await logPrompt(log(10_000))).not.toHaveProperty("error");
  expect(await logPrompt(log(10_001))).toMatchObject(refused(new RegExp(message)));
  const upper = { ...step(10_001), type: "SPAN" };
  expect(await logTrace({ logs: [{ ...upper, metadata: metadataOf(10_000) }] })).not.toHaveProperty("error");
  expect(await logTrace({ logs: [upper] })).toMatchObject(refused(new RegExp(`logs.0.${message}`)));
});

test("a row that is put together of several requests has at most 10,000,000 bytes, whichever of its parts they are in", async () => {
  await addDataset(server, { slug: "wide", columns: columnsNamed("c", 50) });
  await server.post("/datasets/wide/items", { values: { c0: "x" } });
  const [{ id }] = (await run('{ dataset(slug: "wide") { rows { nodes { id } } } }')).rows;
  const update =
    "mutation($id: ID!, $input: UpdateDatasetItemInput!) { updateDatasetItem(id: $id, input: $input) { datasetRow { name } } }";
  const grow = (input: object) => run(update, { id, input });
  const megabytes = (n: number) => "\u00e9".repeat(n * 500_000); // two bytes each
  await grow({ values: { c1: megabytes(5) } });
  expect(await grow({ metadata: { a: megabytes(4) } })).toEqual({ datasetRow: { name: null } });
  expect(await grow({ idealOutput: megabytes(2) })).toMatchObject(refused(/larger than 10,000,000 bytes/));
  expect(await grow({ values: { c2: megabytes(2) } })).toMatchObject(refused(/larger than 10,000,000 bytes/));

  // A body counts no values, so a row may begin larger; it may change, but not grow.
  const values = { c0: Array.from({ length: 480_000 }, () => "12") };
  const { body } = await server.post("/datasets/wide/items", { values });
  const change = (input: object) => run(update, { id: body.datasetRow.id, input });
  expect(await change({ name: null })).toEqual({ datasetRow: { name: null } });
  expect(await change({ values: { c0: null } })).toEqual({ datasetRow: { name: null } });
  expect(await change({ values })).toMatchObject(refused(/larger than 10,000,000 bytes/));

  // V8 may take 6 microseconds to write one.
  const fractions = (count: number) => Array(count).fill(0.5);
  const { body: numbers } = await server.post("/datasets/wide/items", { values: { c0: fractions(20_000) } });
  const put = (input: object) => run(update, { id: numbers.datasetRow.id, input });
  expect(await put({ values: { c1: fractions(3_000) } })).toEqual({ datasetRow: { name: null } });
  expect(await put({ values: { c2: fractions(3_000) } })).toMatchObject(
    refused(/larger than 10,000,000 bytes/),
  );

  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`m${n}`, "x".repeat(100)]));
  const { body: many } = await server.post("/datasets/wide/items", { values: { c0: members(49_000) } });
  const fill = (input: object) => run(update, { id: many.datasetRow.id, input });
  expect(await fill({ name: "n", values: { c1: members(900) } })).toEqual({ datasetRow: { name: "n" } });
  expect(await fill({ values: { c2: members(1_000) } })).toMatchObject(
    refused(/more than 50,000 members of objects/),
  );

  await server.post("/monitor/log", { slug: "x", output: "x".repeat(1_000_000) });
  const [log] = await run("{ logs(first: 1) { nodes { id } } }");
  const columns = columnsNamed("c", 50).map(({ name: column }) => ({ column, from: "OUTPUT" }));
  const copy =
    'mutation($id: ID!, $columns: [LogColumnInput!]) { addLogToDataset(slug: "wide", input: { logId: $id, columns: $columns }) { datasetRow { name } } }';
  expect(await run(copy, { id: log.id, columns })).toMatchObject(refused(/larger than 10,000,000/));
  await server.post("/monitor/log", { slug: "x", output: "\u0001".repeat(500_000) }); // six bytes each in a row
  const [escaped] = await run("{ logs(first: 1) { nodes { id } } }");
  const copyInto = (count: number) => run(copy, { id: escaped.id, columns: columns.slice(0, count) });
  expect(await copyInto(3)).toEqual({ datasetRow: { name: null } });
  expect(await copyInto(4)).toMatchObject(refused(/larger than 10,000,000/));
  const parts = columns.slice(0, 3).map(({ column }) => `{ column: "${column}", from: OUTPUT }`);
  const add = (name: string) =>
    `${name}: addLogToDataset(slug: "wide", input: { logId: "${escaped.id}", columns: [${parts}] }) { __typename }`;
  const { body: thrice } = await server.graphql(`mutation { ${["a", "b", "c"].map(add).join(" ")} }`);
  expect(thrice.errors).toMatchObject([{ path: ["c"], extensions: { code: "QUERY_TOO_COMPLEX" } }]);
});

test("members of a row are counted no further than a row may have, however many columns take the same part of a log", async () => {
  const names = columnsNamed("m", 1_000).map(({ name }) => name);
  await addDataset(server, {
    slug: "shared-members",
    columns: names.map((name) => ({ name, type: "text" as const })),
  });
  const input = Object.fromEntries(Array.from({ length: 60_000 }, (_, n) => [`k${n}`, n]));
  await server.graphql("mutation($i: LogPromptInput!) { logPrompt(input: $i) { __typename } }", {
    i: { slug: "x", output: "y", input },
  });
  const [{ id }] = await run("{ logs(first: 1) { nodes { id } } }");
  const columns = names.map((column) => ({ column, from: "INPUT" }));
  const copy =
    'mutation($id: ID!, $columns: [LogColumnInput!]) { addLogToDataset(slug: "shared-members", input: { logId: $id, columns: $columns }) { datasetRow { name } } }';
  const looked = vi.spyOn(Object, "values");
  expect(await run(copy, { id, columns })).toMatchObject(refused(/more than 50,000 members of objects/));
  const counted = looked.mock.calls.filter(([value]) => "k59999" in Object(value)).length;
  looked.mockRestore();
  expect(counted).toBeGreaterThan(0);
  expect(counted).toBeLessThan(5);
});

test.each([
  [
    "mutation",
    "each but the first",
    (n: number) => `a${n}: createPrompt(input: { slug: "turn-${n}" }) { prompt { slug } }`,
    29,
  ],
  [
    "query",
    "each but the first four",
    (n: number) => `a${n}: modelPrices(first: ${n + 1}) { nodes { id } }`,
    26,
  ],
])(
  "each %s of an operation, %s, begins in a turn of its own, so that others are served in between",
  async (kind, _, field, least) => {
    const all = Array.from({ length: 30 }, (_, n) => field(n)).join(" ");
    await run(`${kind} { ${all.replaceAll("turn-", "warm-")} }`);
    let turns = 0;
    let isOver = false;
    const answered = run(`${kind} { ${all} }`).finally(() => {
      isOver = true;
    });
    for (; !isOver; turns++) await nextTurn();
    expect(await answered).not.toHaveProperty("error");
    expect(turns).toBeGreaterThan(least);
  },
);

test("a workspace has at most 1,000 prices of its own; one that is there is still replaced", async () => {
  const price = { workspace, provider: "", inputPrice: 1, outputPrice: 1, createdAt: new Date() };
  const rows = Array.from({ length: 1_000 }, (_, n) => ({
    ...{ ...price, id: uuidv7(), model: `m${n}`, validFrom: new Date("0001-01-01T00:00:00Z") },
  }));
  await server.database.commit(rows.map((row) => ["ModelPrice", row]));
  const set = (model: string) =>
    run(
      "mutation($m: String!) { setModelPrice(input: { model: $m, inputPrice: 2, outputPrice: 2 }) { modelPrice { model } } }",
      {
        m: model,
      },
    );
  expect(await set("m1000")).toMatchObject(refused(/more than 1000 prices/));
  expect(await set("m999")).toEqual({ model: "m999" });
});

test("new columns of one name are refused before a key is looked for each of them", async () => {
  await addDataset(server, { slug: "nearly-full", columns: columnsNamed("a", 999) });
  const [column] = inputs("b", 1);
  const { error } = await run(UPDATE, { slug: "nearly-full", add: [column, column] });
  expect(error.code).toBe("CONFLICT"); // after the keys it would be one column too many
});
