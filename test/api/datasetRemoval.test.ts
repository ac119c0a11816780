import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, expect, test, vi } from "vitest";
import { deleteInBatches } from "../../src/database/deleteInBatches.ts";
import { putDatasetItems } from "../../src/datasets/bulk.resolvers.ts";
import { datasetRowInput } from "../../src/datasets/inputs.ts";
import { removeDeletedDatasets } from "../../src/datasets/removal.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset } from "../support/data.ts";
import { isOnPostgresql, type Server, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const { run, database } = server;

const ROWS = 1_700;
const LARGE = {
  columns: [{ name: "a", type: "text" as const }],
  rows: Array(ROWS).fill({ values: { a: "1" } }),
};

const remove = (slug: string) => run(`mutation { deleteDataset(slug: "${slug}") { deletedDatasetId } }`);
const never = new AbortController().signal;
const rowsIn = async ({ database }: Server, id: string) => {
  const { count } = await database.read
    .selectFrom("DatasetRow")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("dataset", "=", id)
    .executeTakeFirstOrThrow();
  return Number(count);
};

test("a large dataset is gone at once for whoever asks, and its slug is free for another", async () => {
  const { id, rowIds } = await addDataset(server, { slug: "large", ...LARGE });
  expect(await remove("large")).toBe(id);
  expect(await rowsIn(server, id)).toBe(ROWS);
  for (const slug of ["large", id]) {
    expect((await server.get(`/datasets/${slug}`)).status).toBe(404);
    expect((await server.post(`/datasets/${slug}/items`, { values: { a: "2" } })).status).toBe(404);
    expect(await run(`{ dataset(slug: "${slug}") { slug } }`)).toMatchObject({
      error: { code: "DATASET_NOT_FOUND" },
    });
    expect(await remove(slug)).toMatchObject({ error: { code: "DATASET_NOT_FOUND" } });
  }
  expect(await run("{ datasets { nodes { slug } } }")).toEqual([]);
  for (const mutation of [
    `deleteDatasetItem(id: "${rowIds[0]}") { deletedDatasetItemId }`,
    `updateDatasetItem(id: "${rowIds[0]}", input: {}) { warnings { message } }`,
  ])
    expect(await run(`mutation { ${mutation} }`)).toMatchObject({ error: { code: "ROW_NOT_FOUND" } });

  await addDataset(server, { slug: "large", columns: LARGE.columns, rows: [{ values: { a: "new" } }] });
  await removeDeletedDatasets(database, never);
  expect(await rowsIn(server, id)).toBe(0);
  expect(await run('{ dataset(slug: "large") { rows { nodes { values } } } }')).toEqual({
    rows: [{ values: { a: "new" } }],
  });
  const left = await database.read.selectFrom("Dataset").select("slug").execute();
  expect(left).toEqual([{ slug: "large" }]);
});

test("a dataset with a row, which may be of 10 MB, leaves it for later; an empty one is gone at once", async () => {
  const datasets = () => database.read.selectFrom("Dataset").select("id").execute();
  for (const count of [0, 1]) {
    const rows = Array(count).fill({ values: { a: "1" } });
    const { id } = await addDataset(server, { slug: `few-${count}`, columns: LARGE.columns, rows });
    await remove(`few-${count}`);
    expect(await rowsIn(server, id)).toBe(count);
    expect((await datasets()).map((dataset) => dataset.id).includes(id)).toBe(count === 1);
  }
});

test("its rows are removed some hundred at a time, and others are served in between", async () => {
  const { id } = await addDataset(server, { slug: "stepwise", ...LARGE });
  const stop = await captureStatements(server);
  await remove("stepwise");
  let turns = 0;
  let isOver = false;
  const turning = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  await removeDeletedDatasets(database, never);
  isOver = true;
  await turning;
  const removals = stop().filter(({ sql }) => /^delete from [`"]dataset/.test(sql));
  expect(await rowsIn(server, id)).toBe(0);
  expect(removals.length).toBeGreaterThanOrEqual(4 + 1);
  expect(turns).toBeGreaterThan(3);
});

test("a step that keeps others waiting has a smaller one follow", async () => {
  const asked: number[] = [];
  const takeLong = () => {
    for (const begun = performance.now(); performance.now() - begun < 20; );
  };
  await deleteInBatches({
    find: async (maxRows) => (asked.push(maxRows) > 6 ? [] : [{ id: `${asked.length}` }]),
    remove: async () => asked.length <= 3 && takeLong(),
  });
  expect(asked).toEqual([5, 3, 2, 1, 2, 4, 8]);
});

test("a step deletes 16 MB, or one larger row, however short the rows before were", async () => {
  const lengths = [...Array(100).fill(10), ...Array(9).fill(4_000_000), 30_000_000, 1, 1];
  const rows = lengths.map((bytes, n) => ({ id: `${1_000 + n}`, bytes }));
  const steps: number[][] = [];
  await deleteInBatches({
    find: async (maxRows, after) => rows.filter(({ id }) => id > after).slice(0, maxRows),
    remove: async (ids) => steps.push(ids.map((id) => lengths[Number(id) - 1_000])),
  });
  expect(steps.flat()).toEqual(lengths);
  const sums = steps
    .filter((step) => step.length > 1)
    .map((step) => step.reduce((sum, bytes) => sum + bytes));
  expect(Math.max(...sums)).toBeLessThanOrEqual(16 * 1024 * 1024);
  expect(steps.length).toBeLessThan(20);
});

const revision = {
  ...{ version: 1, until: 2, createdAt: new Date() },
  ...{ logId: null, name: null, key: null, idealOutput: null, metadata: null },
};

test.each(["rows", "revisions"])(
  "long %s after many short ones are removed 16 MB at a time",
  async (parts) => {
    const long = { values: { a: "x".repeat(3_000_000) } };
    const rows = [...Array(200).fill({ values: { a: "1" } }), ...Array(12).fill(long)];
    const slug = `long-${parts}`;
    const workspace = await getWorkspaceId(database, "default");
    const { id: dataset, rowIds } = await addDataset(server, { slug, columns: LARGE.columns, rows });
    if (parts === "revisions")
      await database.commit(
        rowIds.map((id, n) => [
          "DatasetRowRevision",
          { ...revision, ...rows[n], id: `${id}@0000000002`, dataset, workspace },
        ]),
      );
    await remove(slug);
    const stop = await captureStatements(server);
    await removeDeletedDatasets(database, never);
    const table = parts === "rows" ? "dataset_rows" : "dataset_row_revisions";
    const removals = stop().filter(({ sql }) => new RegExp(`^delete from .${table}`).test(sql));
    expect(removals.length).toBeGreaterThanOrEqual(8); // 200 short ones take 6, into the last of which the long ones would fit
  },
);

test("what is broken off goes on later", async () => {
  const { id } = await addDataset(server, { slug: "broken-off", ...LARGE });
  await remove("broken-off");
  const closing = new AbortController();
  const removing = removeDeletedDatasets(database, closing.signal);
  await vi.waitUntil(async () => (await rowsIn(server, id)) < ROWS, { interval: 1, timeout: 30_000 });
  closing.abort();
  await removing;
  expect(await rowsIn(server, id)).toBeGreaterThan(0);
  await removeDeletedDatasets(database, never);
  expect(await rowsIn(server, id)).toBe(0);
});

test("a gateway that has not heard yet that a dataset was deleted acknowledges no row of it", async () => {
  const { id } = await addDataset(server, { slug: "unheard", ...LARGE });
  const { body } = await server.post("/monitor/log", { slug: "unknown", output: "x" });
  const hearing = vi.spyOn(database.generation, "now").mockReturnValue("before");
  try {
    expect(await server.run('{ dataset(slug: "unheard") { slug } }')).toEqual({ slug: "unheard" }); // and caches it
    await remove("unheard");
    const path = "/datasets/unheard/items";
    const row = { values: { a: "late" } };
    expect(await server.run('{ dataset(slug: "unheard") { slug } }')).toEqual({ slug: "unheard" });
    const answers = await Promise.all([
      server.post(path, row),
      server.post(path, { ...row, key: "k" }),
      server.post(path, row, { headers: { "idempotency-key": "late" } }),
      server.post(path, { ...row, key: "l" }, { headers: { "idempotency-key": "late-too" } }),
      server.post("/monitor/log", { slug: "unknown", output: "y" }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 200]);
    for (const mutation of [
      'addDatasetItems(slug: "unheard", input: { items: [{ values: { a: "late" } }] }) { errors { message } }',
      `addLogToDataset(slug: "unheard", input: { logId: "${body.log.id}" }) { warnings { message } }`,
    ])
      expect(await run(`mutation { ${mutation} }`)).toMatchObject({ error: { code: "DATASET_NOT_FOUND" } });
    const context = commandLineContext(database, await getWorkspaceId(database, "default"));
    const items = [datasetRowInput.parse(row)];
    await expect(putDatasetItems(context, { slug: "unheard", items })).rejects.toThrow("does not exist");
  } finally {
    hearing.mockRestore();
  }
  await removeDeletedDatasets(database, never);
  expect(await rowsIn(server, id)).toBe(0);
});

test("a service removes within a minute what was deleted", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  try {
    await using own = await startServer();
    const { id } = await addDataset(own, { slug: "regular", ...LARGE });
    await own.run('mutation { deleteDataset(slug: "regular") { deletedDatasetId } }');
    vi.advanceTimersByTime(60_000);
    await vi.waitUntil(async () => (await rowsIn(own, id)) === 0, { interval: 5, timeout: 30_000 });
  } finally {
    vi.useRealTimers();
  }
});

interface Handle {
  getNativeClient(): Promise<{ prepare(sql: string): { all(...values: unknown[]): unknown[] } }>;
}

if (!isOnPostgresql)
  test("on SQLite: a removal reads rows and changes in the order of an index, and sorts none", async () => {
    await using own = await startServer();
    await addDataset(own, { slug: "changed", ...LARGE, rows: [{ values: { a: "1" } }] });
    const change = 'updateDataset(slug: "changed", input: { addColumns: [{ name: "b", type: TEXT }] })';
    expect(await own.run(`mutation { ${change} { dataset { slug } } }`)).toEqual({ slug: "changed" });
    await own.run('mutation { deleteDataset(slug: "changed") { deletedDatasetId } }');
    const stop = await captureStatements(own);
    await removeDeletedDatasets(own.database, never);
    const reads = stop().filter(({ sql }) => /^select .*order by/s.test(sql) && !sql.includes("deleted_at"));
    const tables = reads.map(({ sql }) => /from "(\w+)"/.exec(sql)![1]);
    expect(new Set(tables)).toEqual(
      new Set(["dataset_columns_revisions", "dataset_row_revisions", "dataset_rows"]),
    );
    const connection = own.database.orm.em.getConnection("read") as unknown as Handle;
    const driver = await connection.getNativeClient();
    for (const { sql } of reads) {
      const bound = Array(sql.split("?").length - 1).fill(0);
      const plan = JSON.stringify(driver.prepare(`explain query plan ${sql}`).all(...bound));
      expect(plan).toContain("USING INDEX");
      expect(plan).not.toContain("TEMP B-TREE");
    }
  });
