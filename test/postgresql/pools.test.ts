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

test("what a replica is lost for leaves no connection of the primary in a transaction", async () => {
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
  const run = (statement: string) => reader.query<{ answer: number }>(statement, []);
  for (const statement of ["begin", "start transaction read only", "set local statement_timeout = 1"])
    await run(statement);
  expect((await run("select 1 as answer")).rows).toEqual([{ answer: 1 }]);
  const writer = await primary.connect(); // the only one so far, which the read took
  const { rows } = await writer.query<{ id: number; limit: string }>(
    "select txid_current_if_assigned() as id, current_setting('statement_timeout') as limit, now() = statement_timestamp() as own",
    [],
  );
  expect(rows).toEqual([{ id: null, limit: "0", own: true }]);
  writer.release();
  for (const statement of ["commit", "rollback"]) await run(statement);
  reader.release();
  await reading.end();
  await primary.end();
});
