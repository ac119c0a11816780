import { randomUUID } from "node:crypto";
import { open } from "node:fs/promises";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { addDataset } from "../support/data.ts";
import { type Answer, type Server, startServer } from "../support/server.ts";

/** The driver's own handle of a connection. */
const handleOf = ({ database }: Server, type: "write" | "read" = "write"): Promise<Database.Database> =>
  // biome-ignore lint/suspicious/noExplicitAny: only the driver's connection has it
  (database.orm.em.getConnection(type) as any).getNativeClient();

/** One write by each way: by the group commit and by a unit of work, at each API. */
const writes: ((server: Server) => Promise<Answer>)[] = [
  ({ post }) => post("/monitor/log", { slug: "x", output: "a log that is refused" }),
  ({ graphql }) => graphql('mutation { logPrompt(input: { slug: "x", output: "one" }) { log { id } } }'),
  ({ post }) => post("/datasets/d/items", { values: { a: "x".repeat(9_000) } }),
  ({ post }) => post("/datasets/d/items", { values: { a: "x".repeat(9_000) }, key: randomUUID() }),
  ({ graphql }) =>
    graphql(
      `mutation { createPrompt(input: { slug: "p-${randomUUID()}", name: "P", description: "${"x".repeat(9_000)}" }) { prompt { slug } } }`,
    ),
];

const shapeOf = ({ status, headers, body }: Answer) => ({
  status,
  retryAfter: headers["retry-after"],
  code: body.code ?? body.errors?.[0].extensions.code,
  message: body.error ?? body.errors?.[0].message,
});

test.each([
  {
    what: "whose disk is full",
    ail: (handle: Database.Database) => {
      handle.exec("vacuum"); // so that no page is left free
      handle.pragma(`max_page_count = ${handle.pragma("page_count", { simple: true })}`);
    },
    mend: (handle: Database.Database) => void handle.pragma("max_page_count = 1000000"),
    message: /^The disk of the database is full/,
  },
  {
    what: "that can only be read",
    ail: (handle: Database.Database) => void handle.pragma("query_only = on"),
    mend: (handle: Database.Database) => void handle.pragma("query_only = off"),
    message: /^The database takes no changes/,
  },
])(
  "a database $what refuses writes as UNAVAILABLE with Retry-After, is read, and takes writes again by itself",
  async ({ ail, mend, message }) => {
    const lines: string[] = [];
    await using server = await startServer({ log: (line) => lines.push(line) });
    await addDataset(server, { slug: "d", columns: [{ name: "a", type: "text" }] });
    const handle = await handleOf(server);
    ail(handle);
    for (const write of writes) {
      let answer = await write(server);
      // A full disk takes what still fits into the pages that are there.
      for (let n = 0; n < 50 && answer.status < 500; n++) answer = await write(server);
      expect(shapeOf(answer)).toEqual({
        status: 503,
        retryAfter: "10",
        code: "UNAVAILABLE",
        message: expect.stringMatching(message),
      });
    }
    expect(lines.join("")).toMatch(/SQLITE_(?:FULL|READONLY)/);
    expect((await server.get("/datasets/d")).status).toBe(200);
    expect((await server.get("/ready")).status).toBe(200);
    mend(handle);
    for (const write of writes) {
      const { status, body } = await write(server);
      expect(status).toBeLessThan(300);
      expect(body.errors).toBeUndefined();
    }
  },
);

const LOCKED_MS = 400;

/** The longest time for which nothing was served while another process holds the database and writes wait for it. */
async function longestBlockMs(server: Server): Promise<number> {
  const other = new Database(server.databaseUrl.slice("sqlite:".length));
  other.exec("begin immediate");
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const waiting = Promise.all(writes.map((write) => write(server)));
  delay.enable();
  await wait(LOCKED_MS);
  delay.disable();
  expect((await server.get("/datasets/d")).status).toBe(200);
  other.exec("commit");
  other.close();
  for (const { status } of await waiting) expect(status).toBeLessThan(300);
  return delay.max / 1_000_000;
}

/** Of some tries, as the machine may be busy with other things; what blocks by itself blocks in each. */
async function leastOf(tries: number, measure: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let n = 0; n < tries; n++) least = Math.min(least, await measure());
  return least;
}

test("a database that another process has locked keeps writes waiting and nobody else: at most 50 ms at a time", async () => {
  await using server = await startServer();
  await addDataset(server, { slug: "d", columns: [{ name: "a", type: "text" }] });
  await longestBlockMs(server); // the first requests load what they need
  expect(await leastOf(12, () => longestBlockMs(server))).toBeLessThan(50);
  // The test sees it when SQLite itself waits.
  (await handleOf(server)).pragma("busy_timeout = 100");
  expect(await leastOf(2, () => longestBlockMs(server))).toBeGreaterThan(90);
});

test("damage that only shows when it is read fails what reads it as UNAVAILABLE, and nothing else", async () => {
  const lines: string[] = [];
  await using server = await startServer({ log: (line) => lines.push(line) });
  const ids: string[] = [];
  for (let n = 0; n < 40; n++) {
    const { body } = await server.post("/monitor/log", { slug: "x", input: "a", output: "x".repeat(1_000) });
    ids.push(body.log.id);
  }
  const file = new Database(server.databaseUrl.slice("sqlite:".length));
  file.pragma("wal_checkpoint(truncate)");
  const leaves = file.prepare("select pageno from dbstat where name = 'logs' and pagetype = 'leaf'").pluck();
  const page = (leaves.all() as number[])[5]!;
  const size = file.pragma("page_size", { simple: true }) as number;
  file.close();
  await using whole = await open(server.databaseUrl.slice("sqlite:".length), "r+");
  await whole.write(Buffer.alloc(size), 0, size, (page - 1) * size);
  for (const type of ["read", "write"] as const) (await handleOf(server, type)).pragma("shrink_memory"); // the cache
  const answers: Answer[] = [];
  for (const id of ids) answers.push(await server.graphql(`{ log(id: "${id}") { output } }`));
  const failed = answers.filter(({ body }) => body.errors);
  expect(failed.length).toBeGreaterThan(0);
  expect(failed.length).toBeLessThan(10);
  for (const { body } of failed) {
    expect(body.errors[0].extensions.code).toBe("UNAVAILABLE");
    expect(body.errors[0].message).toMatch(/^The database is damaged/);
  }
  expect(lines.join("")).toContain("SQLITE_CORRUPT");
});

test("/ready reports a file that is damaged where everybody reads, and that it is whole again", async () => {
  await using server = await startServer();
  const ready = async () => {
    for (const type of ["read", "write"] as const) (await handleOf(server, type)).pragma("shrink_memory"); // the cache
    return (await server.get("/ready", { token: null })).status;
  };
  const path = server.databaseUrl.slice("sqlite:".length);
  const file = new Database(path);
  file.pragma("wal_checkpoint(truncate)");
  const root = file.prepare("select rootpage from sqlite_master where name = 'workspaces'").pluck().get();
  const size = file.pragma("page_size", { simple: true }) as number;
  file.close();
  await using whole = await open(path, "r+");
  const place = ((root as number) - 1) * size;
  const { buffer: page } = await whole.read(Buffer.alloc(size), 0, size, place);
  expect(await ready()).toBe(200);
  await whole.write(Buffer.alloc(size), 0, size, place);
  expect(await ready()).toBe(503);
  await whole.write(page, 0, size, place);
  expect(await ready()).toBe(200);
});
