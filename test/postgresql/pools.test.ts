import { expect, inject, test } from "vitest";
import { createPool, createReadingPool } from "../../src/database/postgresql/pools.ts";
import { runShared } from "../../src/limits/eventLoop.ts";

test("the last two of ten connections are left to workspaces that have one at most", async () => {
  const [max, taken, left] = [10, { a: 6, b: 2 }, 2];
  const pool = createPool({ connectionString: inject("postgresql")!.url, max });
  const begun: string[] = [];
  const connections = [...Object.entries({ ...taken, b: max }), ["c", left] as const].flatMap(
    ([name, count]) =>
      Array.from({ length: count }, () =>
        runShared(name, async () => {
          const client = await pool.connect();
          begun.push(name);
          return client;
        }),
      ),
  );
  const counts = () => Object.groupBy(begun, (name) => name);
  await expect.poll(() => begun.length).toBe(max);
  expect([counts().a?.length, counts().c?.length]).toEqual([taken.a, left]);
  for (const connection of connections) void connection.then((client) => client.release());
  await Promise.all(connections);
  await pool.end();
});

test("a transaction that a replica is lost for has one connection of the primary to itself, until it ends", async () => {
  const { url } = inject("postgresql")!;
  const primary = createPool({ connectionString: url, max: 5 });
  const lost = Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
  const replica = {
    connect: async () => ({
      query: async (statement: string) => {
        if (statement.includes("pg_is_in_recovery")) return { rows: [{ answer: true }] };
        throw lost;
      },
      release: () => {},
    }),
    end: async () => {},
  };
  const reading = createReadingPool(primary, [replica as never]);
  const reader = await reading.connect();
  const run = async (statement: string) => (await reader.query<object>(statement, [])).rows;
  const state =
    "select current_setting('transaction_read_only') as mode, current_setting('statement_timeout') as limit";
  expect(await run(state)).toEqual([{ mode: "off", limit: "0" }]);
  await run("start transaction read only");
  await run("set local statement_timeout = 1000");
  const others = await Promise.all([primary.connect(), primary.connect()]);
  for (const other of others)
    expect((await other.query(state, [])).rows).toEqual([{ mode: "off", limit: "0" }]);
  expect(await run(state)).toEqual([{ mode: "on", limit: "1s" }]);
  await run("commit");
  for (const other of others) other.release();
  expect(primary.counts().inUse).toBe(0);

  await run("start transaction read only");
  reader.release(); // as after an error, without an end
  await expect.poll(() => primary.counts().inUse).toBe(0);
  const next = await Promise.all([primary.connect(), primary.connect(), primary.connect()]);
  for (const other of next)
    expect((await other.query(state, [])).rows).toEqual([{ mode: "off", limit: "0" }]);
  for (const other of next) other.release();
  await reading.end();
  await primary.end();
});

test("a transaction that a replica cancels goes on at the primary with its settings, and the replica is used again", async () => {
  const { url } = inject("postgresql")!;
  const primary = createPool({ connectionString: url, max: 5 });
  const other = createPool({ connectionString: url, max: 1 });
  const state =
    "select current_setting('transaction_read_only') as mode, current_setting('statement_timeout') as limit";
  const canceled = Object.assign(new Error("canceling statement due to conflict with recovery"), {
    code: "40001",
  });
  const replica = {
    connect: async () => {
      const client = await other.connect();
      const query = async (statement: string, values: unknown[]) => {
        if (statement.includes("pg_is_in_recovery")) return { rows: [{ answer: true }] };
        if (statement === state) throw canceled;
        return client.query(statement, values);
      };
      return { query, release: () => client.release() };
    },
    end: () => other.end(),
  };
  const reading = createReadingPool(primary, [replica as never]);
  const reader = await reading.connect();
  const run = async (statement: string) => (await reader.query<object>(statement, [])).rows;
  for (const end of ["commit", "rollback"]) {
    expect(await run(state)).toEqual([{ mode: "off", limit: "0" }]);
    await run("start transaction read only");
    await run("set local statement_timeout = 1000");
    expect(primary.counts().inUse).toBe(0);
    expect(await run(state)).toEqual([{ mode: "on", limit: "1s" }]);
    expect(await run(state)).toEqual([{ mode: "on", limit: "1s" }]);
    await run(end);
    expect(primary.counts().inUse).toBe(0);
  }
  reader.release();
  const next = await other.connect();
  expect((await next.query(state, [])).rows).toEqual([{ mode: "off", limit: "0" }]);
  next.release();
  await reading.end();
  await primary.end();
});
