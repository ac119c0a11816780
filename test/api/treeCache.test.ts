import { randomBytes } from "node:crypto";
import { afterAll, expect, test, vi } from "vitest";
import { createCommitCache } from "../../src/database/commitCache.ts";
import { type Database, openDatabase } from "../../src/database/open.ts";
import { inRequestTransaction, joinOf } from "../../src/database/requestTransaction.ts";
import { entities } from "../../src/entities.ts";
import { Log } from "../../src/logs/entities.ts";
import { treeOfTrace } from "../../src/logs/trees.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addWorkspace } from "../support/data.ts";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const SPANS = 1_200;

/** A trace that is large enough for the cache. */
async function addTrace(spans = SPANS) {
  const [traceId, rootId] = [randomBytes(16), randomBytes(8)];
  const all = Array.from({ length: spans }, (_, n) =>
    newSpan({ traceId, ...(n === 0 ? { spanId: rootId } : { parentSpanId: rootId }) }),
  );
  await send(server, encodeSpans(all));
  const found = await server.database.read
    .selectFrom("Trace")
    .select("id")
    .where("externalId", "=", traceId.toString("hex"))
    .executeTakeFirstOrThrow();
  return { id: found.id, traceId, rootId };
}

const TRACE = `query($id: ID!) { trace(id: $id) { logCount errorCount logs(first: 2) {
  nodes { id status subtree { logs errors } } } } }`;
const read = (id: string) => server.run(TRACE, { id });

const setStatus = (database: Database, id: string, status: "ok" | "error") =>
  database.fork(null).nativeUpdate(Log, { id }, { status }, { filters: false });

test("what anybody commits to a large trace is in its next page, also when another process did it", async () => {
  const { id, traceId, rootId } = await addTrace();
  const [root] = (await read(id)).logs;
  const counts = async () => {
    const { logCount, errorCount, logs } = await read(id);
    expect(logs[0].subtree).toEqual({ logs: logCount, errors: errorCount });
    return [logCount, errorCount];
  };
  expect([await counts(), await counts()]).toEqual([
    [SPANS, 0],
    [SPANS, 0],
  ]);
  await send(server, encodeSpans([newSpan({ traceId, parentSpanId: rootId })]));
  expect(await counts()).toEqual([SPANS + 1, 0]);
  await setStatus(server.database, root.id, "error");
  expect(await counts()).toEqual([SPANS + 1, 1]);
  const elsewhere = await openDatabase(server.databaseUrl, entities);
  await setStatus(elsewhere, root.id, "ok");
  await elsewhere.close();
  expect(await counts()).toEqual([SPANS + 1, 0]);
});

test("what is committed while the tree of a trace is read is in its next page, also when others read meanwhile", async () => {
  const { id } = await addTrace();
  const small = await addTrace(1); // a commit, after which nothing is cached
  const logs = server.database.read.selectFrom("Log").select("id").where("trace", "=", id).orderBy("id");
  const firstRead = await logs.executeTakeFirstOrThrow();
  const turn = vi.spyOn(server.database, "turn");
  turn.mockImplementationOnce(async () => {
    await setStatus(server.database, firstRead.id, "error");
    await read(small.id);
  });
  await read(id);
  expect(turn).toHaveBeenCalled();
  turn.mockRestore();
  expect((await read(id)).errorCount).toBe(1);
});

test("a workspace gets nothing from the trees that are cached for another", async () => {
  const { id } = await addTrace();
  const other = await addWorkspace(server, "other");
  const sizeFor = async (workspaceId: string) => {
    const { logs } = await treeOfTrace(commandLineContext(server.database, workspaceId), { id });
    return logs.length;
  };
  const own = await getWorkspaceId(server.database, "default");
  expect([await sizeFor(own), await sizeFor(other.id), await sizeFor(own)]).toEqual([SPANS, 0, SPANS]);
});

test.skipIf(isOnPostgresql)(
  "on SQLite: the tree of a large trace is read once until anything is committed, that of a small one each time",
  async () => {
    const { generation } = server.database;
    const hitsOf = async (id: string) => {
      await read(id);
      const { hits } = generation.reuse;
      for (let n = 0; n < 3; n++) await read(id);
      return generation.reuse.hits - hits;
    };
    const [large, small] = [await addTrace(), await addTrace(500)];
    expect(await hitsOf(large.id)).toBe(3);
    expect(await hitsOf(small.id)).toBe(0);
  },
);

test.skipIf(isOnPostgresql)("on SQLite: the cache of trees holds 16 MB", () => {
  const cache = createCommitCache<{ bytes: number }>()(server.database, "any");
  const sizes = { oldest: 6, second: 6, newest: 6, huge: 17 };
  for (const [key, megabytes] of Object.entries(sizes)) cache.set(key, { bytes: megabytes * 1024 * 1024 });
  expect(Object.keys(sizes).filter((key) => cache.get(key))).toEqual(["second", "newest"]);
});

test("a request with a transaction of its own sees what it wrote, and nobody else does", async () => {
  const { id } = await addTrace();
  const [root] = (await read(id)).logs;
  const workspaceId = await getWorkspaceId(server.database, "default");
  const errorsIn = async (database: Database) =>
    (await treeOfTrace(commandLineContext(database, workspaceId), { id })).total.errors;
  const rolledBack = inRequestTransaction(
    { database: server.database, workspaceId, endsAtDuplicate: false },
    async ({ em, database }) => {
      await joinOf(em)!((nested) => nested.nativeUpdate(Log, { id: root.id }, { status: "error" }));
      expect(await errorsIn(database)).toBe(1);
      throw new Error("not to be stored");
    },
    async () => {},
  );
  await expect(rolledBack).rejects.toThrow("not to be stored");
  expect(await errorsIn(server.database)).toBe(0);
});
