import { ServerResponse } from "node:http";
import { EntityManager } from "@mikro-orm/core";
import { afterAll, expect, test, vi } from "vitest";
import { addDataset, addPrompt } from "../support/data.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";
import { captureStatements, type Statement } from "../support/statements.ts";
import { countTurns, turnsDuring } from "../support/turns.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const LONG = `It's "long" ?? $1 \\? :a ${"é".repeat(300)}`;
const LONGER = `${LONG}${"é".repeat(100_000)}`;
const columns = [{ name: "a", type: "text" as const }];
for (const slug of ["rows", "turns", "read"]) await addDataset(server, { slug, columns });
await addPrompt(server, { slug: "prompt" });

async function statementsOf(write: () => Promise<unknown>): Promise<Statement[]> {
  const stop = await captureStatements(server);
  await write();
  return stop();
}

test("long texts are bound to the statements that store them, and kept as they are", async () => {
  const row = { key: "k", name: LONG, values: { a: LONG }, idealOutput: LONGER, metadata: { m: LONG } };
  const statements = await statementsOf(async () => {
    for (const name of ["first", LONG]) {
      const put = await server.post("/datasets/rows/items", { ...row, name });
      expect(put.status).toBe(201);
    }
    const id = (await server.run('{ dataset(slug: "rows") { rows { nodes { id } } } }')).rows[0].id;
    const update =
      "mutation($id: ID!, $name: String!) { updateDatasetItem(id: $id, input: { name: $name }) { warnings { message } } }";
    expect(await server.run(update, { id, name: `${LONG}!` })).toEqual({ warnings: [] });
    const input = { version: "1.0.0", text: LONG, systemText: LONGER };
    const create =
      'mutation($input: PromptVersionInput!) { createPromptVersion(slug: "prompt", input: $input) { warnings { message } } }';
    expect(await server.run(create, { input })).toEqual({ warnings: [] });
  });
  for (const { sql } of statements) expect(sql).not.toContain("é".repeat(100));

  const stored = await server.run(
    '{ dataset(slug: "rows") { rows { nodes { key name values idealOutput metadata } } } }',
  );
  expect(stored.rows).toEqual([{ ...row, name: `${LONG}!` }]);
  expect(await server.run('{ prompt(slug: "prompt") { versions { nodes { text systemText } } } }')).toEqual({
    versions: [{ text: LONG, systemText: LONGER }],
  });
});

const PUT =
  'mutation($items: [DatasetItemInput!]!) { addDatasetItems(slug: "keyed", input: { items: $items }) { datasetRows { id key values } errors { message } } }';

test("many rows with keys are written some at a time, without a look at the texts that they replace", async () => {
  await addDataset(server, { slug: "keyed", columns });
  const items = (text: string) =>
    Array.from({ length: 250 }, (_, n) => ({ key: `k${n % 245}`, values: { a: `${text} ${n}` } }));
  const first = await server.run(PUT, { items: items("old") });
  let second: typeof first;
  const statements = await statementsOf(async () => {
    second = await server.run(PUT, { items: items("new") });
  });
  expect(second).toEqual({
    datasetRows: first.datasetRows.map((row: object, n: number) => ({ ...row, values: { a: `new ${n}` } })),
    errors: [],
  });
  const { rows } = await server.run('{ dataset(slug: "keyed") { rows { nodes { key values } } } }');
  expect(rows).toHaveLength(245);
  expect(rows[0]).toEqual({ key: "k0", values: { a: "new 245" } }); // of equal keys the last one stays
  const about = (verb: string) =>
    statements.filter(({ sql }) => new RegExp(`^${verb}\\b.*["\`]dataset_rows["\`]`, "s").test(sql));
  expect(about("select").length).toBeGreaterThan(0);
  for (const { sql } of about("select"))
    expect(sql.replaceAll(/octet_length\([^)]*\)/g, "")).not.toMatch(/[`"]values[`"]|\*/);
  expect(about("update")).toHaveLength(3);
});

test("rows with keys are written apart where those that they change are long, and never more than 10 MB at once", async () => {
  await addDataset(server, { slug: "long", columns });
  const keyed = async (key: string, megabytes: number) => {
    const body = { key, values: { a: "x".repeat(megabytes * 1_000_000) } };
    expect((await server.post("/datasets/long/items", body)).status).toBe(201);
  };
  const put = (keys: string[], value: string) =>
    server.graphql(PUT.replace("keyed", "long"), {
      items: keys.map((key) => ({ key, values: { a: value } })),
    });
  const three = ["a", "b", "c"];
  for (const key of three) await keyed(key, 3);
  const updates = (await statementsOf(() => put(three, "new"))).filter(({ sql }) =>
    /^update ["`]dataset_rows["`]/.test(sql),
  );
  expect(updates).toHaveLength(3);

  const four = Array.from({ length: 4 }, (_, n) => `k${n}`);
  for (const key of four) await keyed(key, 3);
  const { body } = await put(four, "refused");
  expect(body.errors[0]).toMatchObject({
    message: expect.stringContaining("Send fewer rows at once"),
    extensions: { code: "BAD_INPUT" },
  });
  expect((await put(four.slice(0, 3), "taken")).body.errors).toBeUndefined();
  const { rows } = await server.run('{ dataset(slug: "long") { rows { nodes { key } } } }');
  expect(rows).toHaveLength(7);
});

test("rows of renamed columns are refused where the keys of these make them more than 16 MB larger", async () => {
  const names = Array.from({ length: 100 }, (_, n) => `${n}`);
  const long = (name: string) => `${"\u0001".repeat(250)}${name}`; // 1,500 bytes of JSON
  await addDataset(server, {
    slug: "renamed",
    columns: names.map((name) => ({ name: long(name), type: "text" as const })),
  });
  const rename =
    'mutation($names: [ColumnRenameInput!]) { updateDataset(slug: "renamed", input: { renameColumns: $names }) { dataset { id } } }';
  await server.run(rename, { names: names.map((name) => ({ from: long(name), to: name })) });
  const values = Object.fromEntries(names.map((name) => [name, ""]));
  const put = async (rows: number) =>
    await server.graphql(PUT.replace("keyed", "renamed"), { items: Array(rows).fill({ values }) });
  expect((await put(120)).body.errors).toMatchObject([
    { message: expect.stringContaining("renamed"), extensions: { code: "BAD_INPUT" } },
  ]);
  const count = '{ dataset(slug: "renamed") { rows { nodes { id } } } }';
  expect(await server.run(count)).toEqual({ rows: [] });
  let added: Awaited<ReturnType<typeof put>>;
  const statements = await statementsOf(async () => {
    added = await put(100);
  });
  expect(added!.body.data.addDatasetItems.datasetRows[99].values).toEqual(values);
  // 15 MB, in pieces of at most 4 MB.
  expect(statements.filter(({ sql }) => /^insert into ["`]dataset_rows["`]/.test(sql))).toHaveLength(4);
});

test("with an Idempotency-Key a request copies at most 10 MB of what is stored in all of its mutations", async () => {
  const names = "abcdefghijkl".split("");
  await addDataset(server, {
    slug: "copied",
    columns: names.map((name) => ({ name, type: "text" as const })),
  });
  const ids: string[] = [];
  for (const key of names) {
    const body = { key, values: { a: "x".repeat(3_500_000) } };
    ids.push((await server.post("/datasets/copied/items", body)).body.datasetRow.id);
  }
  const call = { slug: "prompt", output: "x".repeat(500_000) };
  const logId = (await server.post("/monitor/log", call)).body.log.id;
  const copies = names.map((column) => `{ column: "${column}", from: OUTPUT }`).join(", ");
  // Reading rows takes long, and the transaction is open for a second at most.
  const remove = (n: number) => `deleteDatasetItem(id: "${ids[n]}") { __typename }`;
  /** What is stored before a refusal stays stored, so each way has rows of its own. */
  const afterTwoRows = (first: number, field: (n: number) => string) => (n: number) =>
    n < 2 ? remove(first + n) : field(n);
  const long = Array.from({ length: 999 }, (_, n) => `${"x".repeat(200)}${n}`);
  const wide = ["c2", ...long].map((name) => ({ name, type: "text" as const }));
  await addDataset(server, { slug: "wide", columns: wide });
  const drop =
    'mutation($names: [String!]) { updateDataset(slug: "wide", input: { removeColumns: $names }) { dataset { id } } }';
  await server.run(drop, { names: long });
  const ways: Record<string, { refusedAt: number; field: (n: number) => string }> = {
    columns: {
      refusedAt: 9,
      field: afterTwoRows(
        0,
        (n) =>
          `updateDataset(slug: "wide", input: { renameColumns: [{ from: "c${n}", to: "c${n + 1}" }] }) { __typename }`,
      ),
    },
    put: {
      refusedAt: 2,
      field: (n) =>
        `addDatasetItem(slug: "copied", input: { key: "${names[6 + n]}", values: { a: "y" } }) { __typename }`,
    },
    delete: { refusedAt: 2, field: (n) => remove(9 + n) },
    copy: {
      refusedAt: 1,
      field: () =>
        `addLogToDataset(slug: "copied", input: { logId: "${logId}", columns: [${copies}] }) { __typename }`,
    },
  };
  for (const [name, { refusedAt, field }] of Object.entries(ways)) {
    const fields = Array.from({ length: refusedAt + 1 }, (_, n) => `a${n}: ${field(n)}`);
    const query = `mutation { ${fields.join(" ")} }`;
    const send = () => server.post("/graphql", { query }, { headers: { "idempotency-key": name } });
    let { body } = await send();
    while (body.errors?.[0].extensions.code === "TIMED_OUT") ({ body } = await send()); // on a busy machine
    expect(body.errors, name).toMatchObject([
      {
        ...{ path: [`a${refusedAt}`], extensions: { code: "BAD_INPUT" } },
        message: expect.stringContaining("Send fewer of them"),
      },
    ]);
  }
});

test("a body of megabytes is parsed, stored and answered in turns of their own, and with a key hashed and encrypted in others", async () => {
  const add = (key: object) => () =>
    server.post("/datasets/turns/items", { values: { a: "x".repeat(2_000_000) } }, { headers: { ...key } });
  // Without the turns in between 17 on SQLite, and 40 with a key, as the last body leaves its turns.
  expect(await turnsDuring(add({}))).toBeGreaterThan(50);
  expect(await turnsDuring(add({ "idempotency-key": "turns" }))).toBeGreaterThan(70);
});

const beSlow = (beganMs = performance.now()) => {
  while (performance.now() - beganMs < 15);
};

interface SqliteConnection {
  getNativeClient(): Promise<{ prepare(sql: string): unknown; exec(sql: string): unknown }>;
}

/** The turn of the event loop in which the connection for writing last got each kind of statement, while `write` runs. */
async function turnsOfStatements(turns: ReturnType<typeof countTurns>, write: () => Promise<unknown>) {
  const connection = server.database.orm.em.getConnection("write") as unknown as SqliteConnection;
  const handle = await connection.getNativeClient();
  const turnOf: Record<string, number> = {};
  for (const way of ["prepare", "exec"] as const) {
    const give = handle[way].bind(handle);
    handle[way] = (sql) => {
      turnOf[sql.split(" ")[0]!] = turns.now();
      return give(sql);
    };
  }
  await write();
  for (const way of ["prepare", "exec"]) Reflect.deleteProperty(handle, way);
  return turnOf;
}

test.skipIf(isOnPostgresql)(
  "on SQLite, others are served between storing rows with keys and committing them, where that took long",
  async () => {
    const { flush } = EntityManager.prototype;
    vi.spyOn(EntityManager.prototype, "flush").mockImplementation(async function (this: EntityManager) {
      await flush.call(this);
      beSlow();
    });
    const turns = countTurns();
    const row = { key: "k", values: { a: "a" } };
    const turnOf = await turnsOfStatements(turns, () => server.post("/datasets/turns/items", row));
    turns.stop();
    vi.restoreAllMocks();
    expect(turnOf.commit).toBeGreaterThan(turnOf.insert!);
  },
);

test.skipIf(isOnPostgresql)(
  "on SQLite, others are served between two mutations of a request with a key, where the first took long",
  async () => {
    const turns = countTurns();
    const writes: { begun: number; ended: number }[] = [];
    const { transactional } = EntityManager.prototype;
    vi.spyOn(EntityManager.prototype, "transactional").mockImplementation(async function (
      this: EntityManager,
      ...work: unknown[]
    ) {
      const begun = turns.now();
      const result = await transactional.apply(this, work as Parameters<typeof transactional>);
      beSlow();
      writes.push({ begun, ended: turns.now() });
      return result as never;
    });
    const fields = ["a", "b"].map(
      (slug) => `${slug}: createPrompt(input: { slug: "${slug}" }) { __typename }`,
    );
    const query = `mutation { ${fields.join(" ")} }`;
    const { body } = await server.post("/graphql", { query }, { headers: { "idempotency-key": "slow" } });
    turns.stop();
    vi.restoreAllMocks();
    expect(body.errors).toBeUndefined();
    expect(writes[1]!.begun - writes[0]!.ended).toBeGreaterThan(1); // 1 without the pause, 28 on an idle machine
  },
);

test.skipIf(isOnPostgresql)(
  "on SQLite, others are served between writing a log as JSON and storing it, where that took long",
  async () => {
    const turns = countTurns();
    const metadata = { isSlow: true };
    const { stringify } = JSON;
    const log = stringify({ slug: "x", output: "a", metadata });
    let writtenAt = 0;
    vi.spyOn(JSON, "stringify").mockImplementation((value, ...more) => {
      const isMetadata = value?.isSlow === true;
      if (isMetadata) beSlow();
      if (isMetadata) writtenAt = turns.now();
      return stringify(value, ...more);
    });
    const turnOf = await turnsOfStatements(turns, () => server.post("/monitor/log", log));
    turns.stop();
    vi.restoreAllMocks();
    expect(turnOf.begin).toBeGreaterThan(writtenAt);
  },
);

test("a long trace is stored in transactions of 512 kB", async () => {
  const { generation } = server.database;
  const commits = () => Number(generation.heard().split(" ")[0]);
  const logTrace = async (count: number, output: string) => {
    const before = commits();
    const logs = Array.from({ length: count }, (_, n) => ({ id: String(n), type: "span", output }));
    const { body } = await server.post("/monitor/trace", { name: "long", logs });
    const { logCount } = await server.run(`{ trace(id: "${body.trace.id}") { logCount } }`);
    return [commits() - before, logCount];
  };
  expect(await logTrace(250, "a")).toEqual([1, 250]);
  expect(await logTrace(2_001, "a")).toEqual([8, 2_001]);
  expect(await logTrace(9, "a ".repeat(90_000))).toEqual([5, 9]); // of 180 kB, two in each
  expect(await logTrace(9, "字 ".repeat(45_000))).toEqual([5, 9]); // of as many bytes
});

test("a trace whose logs have more text than one log may have is stored in pieces, and not with what others store", async () => {
  const commit = vi.spyOn(server.database, "commit");
  const store = async (count: number) => {
    commit.mockClear();
    const log = { type: "span", output: "a ".repeat(45_000) };
    const logs = Array.from({ length: count }, (_, n) => ({ id: String(n), ...log }));
    expect(await server.post("/monitor/trace", { name: "words", logs })).toMatchObject({ status: 200 });
    return commit.mock.calls.length;
  };
  expect(await store(2)).toBe(1);
  expect(await store(3)).toBe(0);
  commit.mockRestore();
});

test("a large answer that is repeated for its key is sent in another turn than the one that parses it, where that took long", async () => {
  const body = JSON.stringify({ values: { a: "x".repeat(1_100_000) } });
  const headers = {
    ...{ authorization: `Bearer ${server.token}`, "content-type": "application/json" },
    ...{ "accept-encoding": "identity", "idempotency-key": "repeated" },
  };
  const add = () => fetch(`${server.url}/datasets/turns/items`, { method: "POST", headers, body });
  await add();
  const turns = countTurns();
  const { parse } = JSON;
  let [parsedAt, sentAt] = [0, 0];
  vi.spyOn(JSON, "parse").mockImplementation((text, ...more) => {
    const isAnswer = text.startsWith('{"status":');
    if (isAnswer) beSlow();
    if (isAnswer) parsedAt = turns.now();
    return parse(text, ...more);
  });
  const { writeHead } = ServerResponse.prototype;
  vi.spyOn(ServerResponse.prototype, "writeHead").mockImplementation(function (
    this: ServerResponse,
    ...head: unknown[]
  ) {
    sentAt = turns.now();
    return writeHead.apply(this, head as Parameters<typeof writeHead>);
  });
  const repeated = await add();
  turns.stop();
  vi.restoreAllMocks();
  expect(repeated.headers.get("idempotent-replayed")).toBe("true");
  expect(parsedAt).toBeGreaterThan(0);
  expect(sentAt).toBeGreaterThan(parsedAt);
});

test.each(["application/json", "application/json, text/html"])(
  "an answer of megabytes as %s is measured in one turn, and written in another",
  async (accept) => {
    const rows = Array.from({ length: 3 }, () => ({ values: { a: "x".repeat(2_000_000) } }));
    for (const row of rows) await server.post("/datasets/read/items", row);
    const query = '{ dataset(slug: "read") { rows(first: 3) { nodes { values } } } }';
    const turns = await turnsDuring(() => server.post("/graphql", { query }, { headers: { accept } }));
    expect(turns).toBeGreaterThan(50); // without the turns in between 22 on SQLite
  },
);
