import { afterAll, expect, test, vi } from "vitest";
import { createRejectionQueue } from "../../src/inbox/queue.ts";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { addWorkspace } from "../support/data.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const greedy = await addWorkspace(server, "greedy");
const modest = await addWorkspace(server, "modest");

let sent = 0;
/** Sends requests that are each rejected for another reason. */
async function sendBad(token: string, count: number): Promise<void> {
  for (let n = 0; n < count; n += 50)
    await Promise.all(
      Array.from({ length: 50 }, async () => {
        sent += 1;
        const { status } = await server.post(`/datasets/none-${sent}/items`, { values: {} }, { token });
        expect(status).toBe(404);
      }),
    );
}

const countOf = async ({ id }: { id: string }) =>
  (await server.database.read.selectFrom("RejectedItem").select("id").where("workspace", "=", id).execute())
    .length;

test("a workspace keeps 1,000 rejected items, the newest, and others keep theirs", async () => {
  const before = await countOf(modest);
  await sendBad(modest.token, 50);
  await storeRejected(server.database);
  for (let n = 0; n < 25; n++) {
    await sendBad(greedy.token, 50);
    await storeRejected(server.database);
  }
  expect(await countOf(greedy)).toBe(1_000);
  expect(await countOf(modest)).toBe(before + 50);
  const page = await server.run("{ rejectedItems(first: 50) { nodes { reason } } }", {}, greedy.token);
  const newest = page.map(({ reason }: { reason: string }) => Number(/none-(\d+)/.exec(reason)![1]));
  expect(Math.min(...newest)).toBe(sent - 49);
}, 60_000);

test("a flood of one workspace is stored in few statements, and hides no item of another", async () => {
  const stop = await captureStatements(server);
  const begunMs = performance.now();
  await sendBad(greedy.token, 5_000);
  await server.post("/monitor/log", {}, { token: modest.token, headers: { "user-agent": "modest" } });
  const list = "{ rejectedItems(first: 1) { nodes { client } } }";
  await vi.waitFor(
    async () => expect(await server.run(list, {}, modest.token)).toEqual([{ client: "modest" }]),
    {
      timeout: 10_000,
    },
  );
  const seconds = Math.ceil((performance.now() - begunMs) / 1_000) + 1;
  const writes = stop().filter(({ sql }) => /^(?:insert into|delete from) [`"]rejected_items/.test(sql));
  expect(writes.length).toBeGreaterThan(0);
  expect(writes.length).toBeLessThanOrEqual(3 * seconds); // one insert, and a delete for each of the two
}, 60_000);

test("100,000 rejections wait in a bounded queue, of which each workspace has a share", () => {
  const queue = createRejectionQueue();
  const rejection = { endpoint: "POST /", client: null, code: "BAD_INPUT", sample: "x".repeat(500) };
  for (let n = 0; n < 100_000; n++) queue.add("greedy", { ...rejection, reason: String(n) });
  for (let n = 0; n < 3; n++) queue.add("modest", { ...rejection, reason: String(n) });
  const rows = queue.take();
  expect(rows.filter(({ workspace }) => workspace === "greedy")).toHaveLength(50);
  expect(rows.filter(({ workspace }) => workspace === "modest")).toHaveLength(3);
  expect(queue.take()).toEqual([]);
  for (let n = 0; n < 100_000; n++) queue.add(`workspace ${n % 1_000}`, { ...rejection, reason: String(n) });
  expect(queue.take()).toHaveLength(2_000);
});

test("equal rejections are counted, however many, and a count of an item is never above what an Int holds", () => {
  const queue = createRejectionQueue();
  const rejection = { endpoint: "POST /", client: null, code: "BAD_INPUT", reason: "same", sample: null };
  for (let n = 0; n < 100_000; n++) queue.add("one", rejection);
  expect(queue.take()).toMatchObject([{ count: 100_000 }]);
  queue.add("one", { ...rejection, count: 2 ** 31 });
  expect(queue.take()).toMatchObject([{ count: 2 ** 31 - 1 }]);
});
