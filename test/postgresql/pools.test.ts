import { expect, inject, test } from "vitest";
import { createPool } from "../../src/database/postgresql/pools.ts";
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
