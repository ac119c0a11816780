import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { afterAll, expect, test, vi } from "vitest";
import type { Context } from "../../src/context.ts";
import { newAnswerBudget } from "../../src/limits/answerBudget.ts";
import { prompts, servedPrompt } from "../../src/prompts/reading.resolvers.ts";
import { availableVersionsOf, describePrompt, prompt } from "../../src/prompts/resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { accessTokens, newToken } from "../../src/workspaces/tokens.resolvers.ts";
import { addDataset, addPrompt, addWorkspace } from "../support/data.ts";
import { type Answer, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const workspace = await getWorkspaceId(server.database, "default");

const MANY_VARIABLES = 30_000;
const variables = Array.from({ length: MANY_VARIABLES }, (_, n) => ({
  label: `v${n}`,
  type: "string",
  description: null,
}));
await addPrompt(server, { slug: "wide", versions: [{ version: "1", variables }] });
const MEGABYTE = "x".repeat(1_000_000);
const MORE_THAN_AN_ANSWER = 34; // megabytes
const column = [{ name: "a", type: "text" as const }];
await addDataset(server, {
  slug: "heavy",
  columns: column,
  rows: Array.from({ length: MORE_THAN_AN_ANSWER }, () => ({ values: { a: MEGABYTE } })),
});
await addPrompt(server, {
  slug: "heavy",
  versions: Array.from({ length: MORE_THAN_AN_ANSWER }, (_, n) => ({ version: `${n}`, text: MEGABYTE })),
  tags: { production: "7" },
});

const codeOf = ({ body }: Answer) => body.errors?.[0].extensions.code;

/** The statements about a table that a request takes. */
async function statementsFor(table: string, ask: () => Promise<unknown>): Promise<string[]> {
  const stop = await captureStatements(server);
  await ask();
  const about = new RegExp(`^select.* from ["\`]?${table}`, "is");
  return stop().flatMap(({ sql }) => (about.test(sql) ? [sql] : []));
}

/** How often others can be served while a request is carried out. */
async function turnsDuring(ask: () => Promise<Answer>): Promise<number> {
  let turns = 0;
  let isAnswered = false;
  const answered = ask().finally(() => {
    isAnswered = true;
  });
  while (!isAnswered) {
    await nextTurn();
    turns += 1;
  }
  expect((await answered).body.errors).toBeUndefined();
  return turns;
}

const described = (times: number) =>
  `{ ${Array.from({ length: times }, (_, n) => `p${n}: describePrompt(slug: "wide") { variables { label type description } }`).join(" ")} }`;

test("lists without pages count as long as they are: 30,000 variables fit into an answer twice, not three times", async () => {
  expect((await server.graphql(described(2))).body.data.p1.variables).toHaveLength(MANY_VARIABLES);
  expect(codeOf(await server.graphql(described(3)))).toBe("QUERY_TOO_COMPLEX");
  const inMutation =
    'mutation { updatePrompt(slug: "wide", input: {}) { prompt { latest { a: variables { label type description } } } } }';
  expect((await server.graphql(inMutation)).body.data.updatePrompt.prompt.latest.a).toHaveLength(
    MANY_VARIABLES,
  );
});

test("names count, too: 40,000 names of versions fit into an answer five times, not six times", async () => {
  const id = uuidv7();
  const createdAt = new Date();
  const prompt = { id, workspace, slug: "versioned", name: "x", description: null, createdAt };
  await server.database.commit([["Prompt", prompt]]);
  const rows = Array.from({ length: 40_000 }, (_, n) => ({
    ...{ id: uuidv7(), workspace, prompt: id, version: `${n}`, text: "", systemText: null },
    ...{ model: null, variables: [], createdAt },
  }));
  for (let from = 0; from < rows.length; from += 5_000)
    await server.database.commit(rows.slice(from, from + 5_000).map((row) => ["PromptVersion", row]));
  const versions = (times: number) =>
    `{ ${Array.from({ length: times }, (_, n) => `p${n}: describePrompt(slug: "versioned") { availableVersions }`).join(" ")} }`;
  expect((await server.graphql(versions(5))).body.data.p1.availableVersions.at(-1)).toBe("39999");
  expect(codeOf(await server.graphql(versions(6)))).toBe("QUERY_TOO_COMPLEX");
  const { body } = await server.get("/prompts/versioned/describe");
  expect(body.prompt.availableVersions).toEqual(rows.map(({ version }) => version));
  const listed = (await server.get("/prompts")).body.prompts;
  expect(listed.find(({ slug }: { slug: string }) => slug === "versioned").availableVersions).toHaveLength(
    40_000,
  );
});

/** A prompt in a workspace of its own, with versions of those names and that text, and as many tags of its first version. */
async function addNames(slug: string, { versions, tags = [] }: { versions: string[]; tags?: string[] }) {
  const own = await addWorkspace(server, slug);
  const common = { workspace: own.id, createdAt: new Date() };
  const prompt = { ...common, id: uuidv7(), slug, name: CONTROL.repeat(256), description: null };
  const rows = versions.map((version) => ({
    ...{ ...common, id: uuidv7(), prompt: prompt.id, version, text: CONTROL.repeat(5_000) },
    ...{ systemText: null, model: null, variables: [] },
  }));
  const labels = tags.map((label) => ({
    ...{ ...common, id: uuidv7(), prompt: prompt.id, label, version: rows[0]!.id },
  }));
  await server.database.commit([["Prompt", prompt]]);
  for (let from = 0; from < rows.length; from += 5_000)
    await server.database.commit(rows.slice(from, from + 5_000).map((row) => ["PromptVersion", row]));
  await server.database.commit(labels.map((row) => ["PromptTag", row]));
  return own;
}

/** It takes six bytes as JSON. */
const CONTROL = "\u0001";

test("names count as JSON: 22,000 that are short as they are stored, and longer than 32 MB as JSON, are refused", async () => {
  const versions = Array.from({ length: 22_000 }, (_, n) => `${CONTROL.repeat(250)}${n}`);
  const { token } = await addNames("escaped", { versions });
  for (const path of ["/prompts", "/prompts/escaped/describe", "/prompts/escaped/describe"])
    expect(await server.get(path, { token })).toMatchObject({
      status: 400,
      body: { code: "QUERY_TOO_COMPLEX" },
    });
});

test("what an answer takes of caches counts as JSON each time, and so do the names of prompts", async () => {
  const mark = CONTROL.repeat(120);
  const named = (count: number) => Array.from({ length: count }, (_, n) => `${mark}${n}`);
  const { id } = await addNames("cached", {
    versions: named(40),
    tags: ["production", ...named(60)],
  });
  const spentBy = async (ask: (context: Context) => Promise<unknown>) => {
    const answerBudget = newAnswerBudget();
    await ask({ ...commandLineContext(server.database, id), answerBudget });
    return answerBudget.maxBytes - answerBudget.leftBytes;
  };
  const jsonOf = (text: string) => 6 * text.length;
  for (const time of ["first", "again"]) {
    const names = await spentBy(async (context) =>
      availableVersionsOf(context, await prompt(context, { slug: "cached" })),
    );
    expect(names, time).toBeGreaterThan(40 * jsonOf(mark));
    const tags = await spentBy((context) => describePrompt(context, { slug: "cached" }));
    expect(tags, time).toBeGreaterThan(60 * jsonOf(mark));
    const text = await spentBy((context) => servedPrompt(context, { slug: "cached" }));
    expect(text, time).toBeGreaterThan(jsonOf(CONTROL.repeat(5_000)));
  }
  const heads = await spentBy((context) => prompts(context, { limit: 1 }));
  expect(heads).toBeGreaterThan(jsonOf(CONTROL.repeat(256)));
});

test("REST writes a long list of names in pieces, with others served in between", async () => {
  const versions = Array.from({ length: 6_000 }, (_, n) => `${CONTROL.repeat(100)}${n}`);
  const { token } = await addNames("listed", { versions });
  const stringify = vi.spyOn(JSON, "stringify");
  const { body } = await server.get("/prompts", { token });
  const lengths = stringify.mock.results.map(({ value }) => String(value).length);
  stringify.mockRestore();
  expect(body.prompts[0].availableVersions).toEqual(versions);
  expect(Math.max(...lengths)).toBeLessThan(JSON.stringify(body).length / 10);
});

test("the tags of datasets that have many together are read one dataset after another, with others served in between", async () => {
  const DATASETS = 6;
  for (let n = 0; n < DATASETS; n++) {
    const { id: dataset } = await addDataset(server, { slug: `tagged-${n}`, columns: column });
    const tags = Array.from({ length: 1_000 }, (_, tag) => ({
      ...{ id: uuidv7(), workspace, dataset, label: `tag-${tag}`, version: 1, createdAt: new Date() },
    }));
    await server.database.commit(tags.map((tag) => ["DatasetTag", tag]));
  }
  const turn = vi.spyOn(server.database, "turn");
  const query = '{ datasets(search: "tagged-", first: 10) { nodes { tags { label } } } }';
  const { nodes } = (await server.graphql(query)).body.data.datasets;
  expect(nodes.map(({ tags }: { tags: unknown[] }) => tags.length)).toEqual(Array(DATASETS).fill(1_000));
  expect(turn.mock.calls.length).toBeGreaterThan(DATASETS); // a few are of the fields
  turn.mockRestore();
});

test.each([
  ["names", "k", 10, 9],
  ["names that are numbers, which take V8 longer,", "", 5, 4],
])("members of an object count more than values of lists: %s", async (_, mark, refused, taken) => {
  const { token } = await addWorkspace(server, `members ${mark}`);
  const numbered = (n: number) => [`${mark}${100_000_000 + n * 7}`, 1];
  const output = Object.fromEntries(Array.from({ length: 33_000 }, (_, n) => numbered(n)));
  for (let n = 0; n < refused; n++) {
    const logs = [{ id: "1", type: "span", output }];
    expect((await server.post("/monitor/trace", { name: "wide", logs }, { token })).status).toBe(200);
  }
  const read = async (first: number) =>
    (await server.graphql(`{ logs(first: ${first}) { nodes { output } } }`, {}, { token })).body;
  expect((await read(refused)).errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
  expect((await read(taken)).data.logs.nodes).toHaveLength(taken);
});

test("an answer of many fields has others served in between", async () => {
  expect(await turnsDuring(() => server.graphql(described(2)))).toBeGreaterThan(15); // 180,000 fields
});

test("the days of usage that an operation asks for many times are made with others served in between", async () => {
  const period = 'from: "2024-01-01T00:00:00Z", to: "2026-12-30T00:00:00Z"';
  const days = `usage(${period}, groupBy: DAY, timeZone: "America/New_York", first: 1) { nodes { key } }`;
  const query = `{ ${Array.from({ length: 29 }, (_, n) => `a${n}: ${days}`).join(" ")} }`;
  const turn = vi.spyOn(server.database, "turn");
  await turnsDuring(() => server.graphql(query));
  expect(turn.mock.calls.length).toBeGreaterThan(45); // 25 of them are of the fields
  turn.mockRestore();
});

test("the rows of many datasets are read one piece after another, with others served in between", async () => {
  const rows = Array.from({ length: 501 }, () => ({ values: { a: "x" } }));
  for (let n = 0; n < 10; n++) await addDataset(server, { slug: `each-${n}`, columns: column, rows });
  const warnings = '{ datasets(search: "each-", first: 10) { nodes { warning } } }';
  expect(await turnsDuring(() => server.graphql(warnings))).toBeGreaterThan(19);
});

// With a turn for each statement alone, there are 4 and 8.
test.each([
  ["warning", 6],
  ["rows(first: 500) { nodes { id values } }", 10],
])("others are served while renamed columns of many rows are put in place for %s", async (field, fewest) => {
  const slug = `renamed-${field.slice(0, 4)}`;
  const names = Array.from({ length: 580 }, (_, n) => `c${n}`);
  const columns = names.map((name) => ({ name, type: "text" as const }));
  const values = Object.fromEntries(names.map((name) => [name, ""]));
  await addDataset(server, { slug, columns, rows: Array.from({ length: 500 }, () => ({ values })) });
  const renameColumns = names.map((from) => ({ from, to: `1${from.slice(1).padStart(9, "0")}` }));
  const rename =
    "mutation($slug: String!, $renameColumns: [ColumnRenameInput!]!) { updateDataset(slug: $slug, input: { renameColumns: $renameColumns }) { dataset { id } } }";
  const renamed = await server.run(rename, { slug, renameColumns });
  expect(renamed).not.toHaveProperty("error");
  const turn = vi.spyOn(server.database, "turn");
  const { body } = await server.graphql(`{ dataset(slug: "${slug}") { ${field} } }`);
  expect(body.errors).toBeUndefined();
  expect(turn.mock.calls.length).toBeGreaterThan(fewest);
  turn.mockRestore();
});

const DENSE = Array.from({ length: 50_000 }, () => []);
const PLAIN = "x".repeat(JSON.stringify(DENSE).length);

test.each([
  ["nodes", (_: string, ids: string[]) => `{ nodes(ids: ${JSON.stringify(ids)}) { id } }`],
  [
    "datasetDiff",
    (slug: string, { length }: string[]) =>
      `{ datasetDiff(slug: "${slug}", from: { version: 1 }, to: { version: ${length + 1} }) { nodes { after { id } } } }`,
  ],
])(
  "%s parses rows with others served in between, and no more values than an answer may have",
  async (field, queryFor) => {
    const addRows = async (slug: string, rows: number, a: unknown) => {
      await server.graphql(
        `mutation { createDataset(input: { slug: "${slug}", columns: [{ name: "a", type: JSON }] }) { dataset { id } } }`,
      );
      const ids: string[] = [];
      for (let n = 0; n < rows; n++)
        ids.push((await server.post(`/datasets/${slug}/items`, { values: { a } })).body.datasetRow.id);
      return queryFor(slug, ids);
    };
    const countTurns = async (query: string) => {
      const turn = vi.spyOn(server.database, "turn");
      // On a fast machine a row with many values takes less than a turn may.
      const [parse, now] = [JSON.parse, performance.now.bind(performance)];
      let parsingMs = 0;
      const parsing = vi.spyOn(JSON, "parse").mockImplementation((text, revive) => {
        if (text.includes("[],[]")) parsingMs += 20;
        return parse(text, revive);
      });
      const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + parsingMs);
      expect((await server.graphql(query)).body.errors).toBeUndefined();
      const turns = turn.mock.calls.length;
      for (const spy of [turn, parsing, clock]) spy.mockRestore();
      return turns;
    };
    const name = field.toLowerCase();
    const plain = await addRows(`${name}-plain`, 8, PLAIN);
    // A busy machine only adds turns.
    const turnsOfPlain: number[] = [];
    for (const n of [1, 2, 3]) turnsOfPlain.push(await countTurns(`${plain} # ${n}`));
    expect(await countTurns(await addRows(`${name}-dense`, 8, DENSE))).toBeGreaterThan(
      Math.min(...turnsOfPlain) + 2,
    );
    expect(codeOf(await server.graphql(await addRows(`${name}-too-dense`, 12, DENSE)))).toBe(
      "QUERY_TOO_COMPLEX",
    );
  },
);

test("the newest and the production version are read alone, without texts that nobody asks for", async () => {
  const fields = "latest { version } production { version variables { label } }";
  let answer: Answer | undefined;
  const statements = await statementsFor("prompt_", async () => {
    answer = await server.graphql(`{ prompt(slug: "heavy") { ${fields} } }`);
  });
  expect(answer!.body.data.prompt).toEqual({
    latest: { version: `${MORE_THAN_AN_ANSWER - 1}` },
    production: { version: "7", variables: [] },
  });
  for (const sql of statements) expect(sql).not.toMatch(/[`"](?:system_)?text[`"]|\*/);
});

test("what a version or a row holds is read only where it is asked for, and only what an answer may have", async () => {
  const small = [
    '{ prompt(slug: "heavy") { versions { nodes { version } } } }',
    '{ dataset(slug: "heavy") { rows { nodes { id } } } }',
  ];
  for (const query of small) expect((await server.graphql(query)).body.errors).toBeUndefined();
  const large = [
    '{ prompt(slug: "heavy") { versions { nodes { text } } } }',
    '{ dataset(slug: "heavy") { rows { nodes { values } } } }',
  ];
  for (const query of large) expect(codeOf(await server.graphql(query))).toBe("QUERY_TOO_COMPLEX");
  const page = await server.graphql(
    '{ dataset(slug: "heavy") { rows(first: 2) { nodes { values } } warning } }',
  );
  expect(page.body.data.dataset).toEqual({
    rows: { nodes: Array(2).fill({ values: { a: MEGABYTE } }) },
    warning: null,
  });
});

test("columns of versions that are compared count, also where the answer has none of them", async () => {
  await using own = await startServer();
  const columns = Array.from({ length: 20_000 }, (_, n) => ({ name: `c${n}`, type: "text" as const }));
  await addDataset(own, { slug: "compared", columns });
  const diff = (n: number) =>
    `d${n}: datasetDiff(slug: "compared", from: { version: 1 }, to: { version: 1 }) { pageInfo { hasNextPage } }`;
  const compare = (times: number) =>
    own.graphql(`{ ${Array.from({ length: times }, (_, n) => diff(n)).join(" ")} }`);
  expect((await compare(8)).body.errors).toBeUndefined();
  expect(codeOf(await compare(9))).toBe("QUERY_TOO_COMPLEX");
});

test("REST gives a dataset of any size; of its long rows a statement reads a megabyte at most", async () => {
  let answer: Answer | undefined;
  const statements = await statementsFor("dataset_rows", async () => {
    answer = await server.get("/datasets/heavy");
  });
  expect(answer!.body.dataset.rows).toHaveLength(MORE_THAN_AN_ANSWER);
  expect(answer!.body.dataset.rows.at(-1).values).toEqual({ a: MEGABYTE });
  expect(statements).toHaveLength(1 + MORE_THAN_AN_ANSWER);
});

test("the audit log is read without what was before and after, unless it is asked for and fits into the answer", {
  tags: "slow",
}, async () => {
  for (let n = 0; n < 36; n++) {
    const input = {
      version: `${n}`,
      text: "Hello",
      model: { model: "m", parameters: { a: MEGABYTE.slice(0, 990_000) } },
    };
    const mutation =
      'mutation ($input: PromptVersionInput!) { createPromptVersion(slug: "audited", input: $input) { warnings { message } } }';
    if (n === 0)
      await server.run('mutation { createPrompt(input: { slug: "audited" }) { prompt { slug } } }');
    expect((await server.graphql(mutation, { input })).body.errors).toBeUndefined();
  }
  expect(
    (await server.graphql("{ auditLog { nodes { action } } }")).body.data.auditLog.nodes.length,
  ).toBeGreaterThan(36);
  expect(codeOf(await server.graphql("{ auditLog { nodes { after } } }"))).toBe("QUERY_TOO_COMPLEX");
  const [last] = (await server.graphql("{ auditLog(first: 1) { nodes { before after } } }")).body.data
    .auditLog.nodes;
  expect([last.before, last.after.version]).toEqual([null, "35"]);
});

test("the tokens of a workspace are read some hundred at a time, the oldest first", async () => {
  const input = { name: "many", scopes: ["read" as const], expiresAt: null };
  const rows = Array.from({ length: 1_200 }, () => newToken(workspace, input).row);
  await server.database.commit(rows.map((row) => ["AccessToken", row]));
  let listed: { id: string }[] = [];
  const statements = await statementsFor("access_tokens", async () => {
    listed = await accessTokens(commandLineContext(server.database, workspace));
  });
  expect(statements.filter((sql) => /order by/i.test(sql))).toHaveLength(3);
  expect(listed.map(({ id }) => id)).toEqual(expect.arrayContaining(rows.map(({ id }) => id)));
  expect(listed).toEqual(listed.toSorted((one, other) => (one.id < other.id ? -1 : 1)));
});

test("GET /datasets gives many datasets page by page, each once and in their order", async () => {
  const own = await addWorkspace(server, "many datasets");
  const columns = Array.from({ length: 300 }, (_, n) => ({ name: `column ${n}`, type: "text" as const }));
  const rows = Array.from({ length: 203 }, (_, n) => ({
    ...{ id: uuidv7(), workspace: own.id, slug: `d-${1_000 + n}`, name: "", columns },
    ...{ removedColumns: [], createdAt: new Date() },
  }));
  await server.database.commit(rows.map((row) => ["Dataset", row]));
  const answer = await server.get("/datasets", { token: own.token });
  expect(answer.headers["content-type"]).toBe("application/json; charset=utf-8");
  expect(answer.body).toEqual({
    datasets: rows.map(({ slug, name }) => ({ slug, name, columns })),
  });
  const none = await addWorkspace(server, "no datasets");
  expect((await server.get("/datasets", { token: none.token })).body).toEqual({ datasets: [] });
});

test("GET /datasets gives more than 32 MB of columns whole, and a dataset at a time", async () => {
  const own = await addWorkspace(server, "wide datasets");
  const columns = Array.from({ length: 570 }, (_, n) => ({
    ...{ name: `${n} `.padEnd(240, "\u4e2d x"), type: "text" as const },
  }));
  const rows = Array.from({ length: 140 }, (_, n) => ({
    ...{ id: uuidv7(), workspace: own.id, slug: `d-${1_000 + n}`, name: "", columns },
    ...{ removedColumns: [], createdAt: new Date() },
  }));
  for (const row of rows) await server.database.commit([["Dataset", row]]);
  const stringify = vi.spyOn(JSON, "stringify");
  const { body } = await server.get("/datasets", { token: own.token });
  const lengths = stringify.mock.results.map(({ value }) => String(value).length);
  stringify.mockRestore();
  expect(body.datasets.map(({ slug }: { slug: string }) => slug)).toEqual(rows.map(({ slug }) => slug));
  expect(Math.max(...lengths)).toBe(JSON.stringify(body.datasets[0]).length);
  expect(Buffer.byteLength(JSON.stringify(body))).toBeGreaterThan(32 * 1024 * 1024);
});

test("the values of models and of audited states count towards an answer, and are parsed one after another", async () => {
  const wide = (n: number) => Object.fromEntries(Array.from({ length: 20_000 }, (_, m) => [`p${n}m${m}`, 1]));
  const create =
    'mutation($input: PromptVersionInput!) { createPromptVersion(slug: "models", input: $input) { __typename } }';
  await addPrompt(server, { slug: "models" });
  for (let n = 0; n < 20; n++) {
    const input = { version: `${n}`, text: "x", model: { model: "m", parameters: wide(n) } };
    expect((await server.graphql(create, { input })).body.errors).toBeUndefined();
  }
  const models = (first: number) =>
    `{ prompt(slug: "models") { versions(first: ${first}) { nodes { model { model } } } } }`;
  const states = (first: number) => `{ auditLog(first: ${first}) { nodes { after } } }`;
  const jsonParse = JSON.parse;
  const now = performance.now.bind(performance);
  for (const [query, turnsOfReads] of [
    [models, 4],
    [states, 6],
  ] as const) {
    const turn = vi.spyOn(server.database, "turn");
    let lateMs = 0; // each row takes longer than a turn may
    const parse = vi.spyOn(JSON, "parse").mockImplementation((...args) => {
      lateMs += 11;
      return jsonParse(...args);
    });
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + lateMs);
    expect((await server.graphql(query(6))).body.errors).toBeUndefined();
    expect(turn.mock.calls.length).toBeGreaterThan(turnsOfReads);
    for (const spy of [turn, parse, clock]) spy.mockRestore();
    expect(codeOf(await server.graphql(query(20)))).toBe("QUERY_TOO_COMPLEX");
  }
});
