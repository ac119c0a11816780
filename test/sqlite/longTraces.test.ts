import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { handleOf } from "../../src/database/sqlite/connection.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

test("others are served while the transaction of a long trace is open", async () => {
  const handle = await handleOf(server.database.orm.em, "write");
  const logs = Array.from({ length: 10_000 }, (_, n) => ({ id: `${n}`, type: "span" }));
  let turns = 0;
  let isAnswered = false;
  const answered = server.post("/monitor/trace", JSON.stringify({ name: "long", logs })).finally(() => {
    isAnswered = true;
  });
  while (!isAnswered) {
    await nextTurn();
    if (handle.inTransaction) turns += 1;
  }
  const { body } = await answered;
  expect(turns).toBeGreaterThan(5);
  const stored = await server.graphql(`{ trace(id: "${body.trace.id}") { logCount } }`);
  expect(stored.body.data).toEqual({ trace: { logCount: 10_000 } });
});
