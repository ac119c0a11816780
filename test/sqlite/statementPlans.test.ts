import { randomBytes } from "node:crypto";
import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { removeDeletedDatasets } from "../../src/datasets/removal.resolvers.ts";
import { removeDeletedPrompts } from "../../src/prompts/removal.resolvers.ts";
import { toCursor } from "../../src/validation/pagination.ts";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

/** How SQLite looks for the rows of a statement whose parameters do not matter. */
async function planOf({ database }: Awaited<ReturnType<typeof startServer>>, sql: string): Promise<string> {
  const connection = database.orm.em.getConnection("read") as unknown as {
    getNativeClient(): Promise<{ prepare(sql: string): { all(...values: null[]): { detail: string }[] } }>;
  };
  const client = await connection.getNativeClient();
  const values = Array.from(sql.matchAll(/\?/g), () => null);
  const steps = client.prepare(`explain query plan ${sql}`).all(...values);
  return steps.map(({ detail }) => detail).join("; ");
}

test("each step through the logs of long traces begins in the index where the step before has ended", async () => {
  await using server = await startServer();
  for (const name of ["one", "two"]) {
    const logs = Array.from({ length: 1_200 }, (_, n) => ({ id: `${n}`, type: "span" }));
    await server.post("/monitor/trace", { name, logs });
  }
  const beyondAll = toCursor("253402300799000 01a22389-c569-8000-882e-b5968380a2dc");
  const page = (type: string) =>
    server.run(
      `{ traces(first: 1, after: "${beyondAll}", filter: { type: [${type}] }) { nodes { name } pageInfo { hasNextPage } } }`,
    );
  const stop = await captureStatements(server);
  expect(await page("SPAN")).toEqual({ nodes: [{ name: "two" }], pageInfo: { hasNextPage: true } });
  expect(await page("TOOL")).toEqual({ nodes: [], pageInfo: { hasNextPage: false } });
  const steps = stop().filter(({ sql }) => sql.includes('"trace_id" in (') && sql.includes('"id" > ?'));
  expect(steps.length).toBeGreaterThan(8);
  for (const sql of new Set(steps.map((step) => step.sql)))
    expect(await planOf(server, sql)).toMatch(/trace_id=\? AND workspace_id=\? AND id>\?/);
});

test("traces that an earlier page has listed are found by trace, not among all logs between two times", async () => {
  await using server = await startServer();
  const spans = Array.from({ length: 300 }, () => newSpan({ traceId: randomBytes(16) }));
  await send(server, encodeSpans(spans));
  const oldest = toCursor("0 01a22389-c569-8000-882e-b5968380a2dc");
  const filter = 'filter: { type: [GENERATION], to: "2999-01-01T00:00:00Z" }';
  const newest = toCursor("32400000000000 01a22389-c569-8000-882e-b5968380a2dc");
  const page = (after: string) =>
    server.run(`{ traces(first: 1, after: "${after}", ${filter}) { nodes { id } } }`);
  expect(await page(oldest)).toEqual([]);
  const stop = await captureStatements(server);
  expect(await page(newest)).toHaveLength(1);
  const steps = stop().filter(({ sql }) => sql.includes('"trace_id" in (') && sql.includes("start_time"));
  expect(steps.length).toBeGreaterThan(0);
  for (const { sql } of steps) expect(await planOf(server, sql)).toContain("trace_id=?");
});

test("a batch of spans finds what was reported of its trace in an index, without passing over status messages", async () => {
  await using server = await startServer();
  const traceId = randomBytes(16);
  await send(server, encodeSpans([newSpan({ traceId })]));
  const stop = await captureStatements(server);
  expect((await send(server, encodeSpans([newSpan({ traceId })]))).status).toBe(200);
  const reads = stop().filter(({ sql }) => sql.includes(`"aggregate_usage" as`));
  expect(reads).toHaveLength(1);
  expect(await planOf(server, reads[0]!.sql)).toContain("USING COVERING INDEX logs_with_aggregate_usage");
});

test.each(["and", "or"])("periods in `%s` of a filter are looked up in no index", async (combination) => {
  await using server = await startServer();
  await send(server, encodeSpans(Array.from({ length: 300 }, () => newSpan({ traceId: randomBytes(16) }))));
  const period = '{ from: "2001-01-01T00:00:00Z", to: "2999-01-01T00:00:00Z" }';
  const filter = `filter: { type: [GENERATION], ${combination}: [${period}, ${period}] }`;
  const newest = toCursor("32400000000000 01a22389-c569-8000-882e-b5968380a2dc");
  const stop = await captureStatements(server);
  for (const field of ["logs", "traces"])
    for (const after of ["", `after: "${newest}", `])
      expect(await server.run(`{ ${field}(first: 1, ${after}${filter}) { nodes { id } } }`)).toHaveLength(1);
  const statements = stop().filter(({ sql }) => /from "logs".*start_time" (?:<|>=) \?/.test(sql));
  expect(statements.length).toBeGreaterThan(3);
  for (const { sql } of statements) {
    const plan = await planOf(server, sql);
    expect(plan).not.toMatch(/OR|TEMP B-TREE/);
    expect(plan).toContain(sql.includes('"trace_id" in') ? "trace_id=?" : "logs_by_time (workspace_id=?");
  }
});

test("the sessions of a token are found by the token, and a page of all sessions in their order", async () => {
  await using server = await startServer({ console: true });
  const headers = { "sec-fetch-site": "same-origin" };
  const stop = await captureStatements(server);
  const signedIn = await server.post("/console/session", { token: server.token }, { token: null, headers });
  expect(signedIn.status).toBe(204);
  expect(await server.run("{ consoleSessions(last: 1) { nodes { id } } }")).toHaveLength(1);
  const statements = stop().filter(({ sql }) => sql.includes("order by") && sql.includes("console_sessions"));
  const ofToken = statements.filter(({ sql }) => sql.includes("`token_id` = '"));
  expect(ofToken).toHaveLength(1);
  expect(await planOf(server, ofToken[0]!.sql)).toContain("console_sessions_token_id_index (token_id=?)");
  const ofAll = statements.filter((statement) => !ofToken.includes(statement));
  expect(ofAll).toHaveLength(2);
  for (const { sql } of ofAll) expect(await planOf(server, sql)).not.toMatch(/SCAN|TEMP B-TREE/);
});

async function addDeletedPrompts({ database }: Awaited<ReturnType<typeof startServer>>, count: number) {
  const { id: workspace } = await database.read
    .selectFrom("Workspace")
    .select("id")
    .executeTakeFirstOrThrow();
  const deletedAt = new Date();
  const rows = Array.from({ length: count }, (_, n) => ({
    ...{ id: uuidv7(), workspace, slug: `~${n}`, name: "a", description: null, featureSlug: null },
    ...{ protectedTags: [], createdAt: deletedAt, deletedAt },
  }));
  await database.write.insertInto("Prompt").values(rows).execute();
}

test.each(["prompts", "datasets"] as const)(
  "a page of %s passes over none that is deleted, and those are removed in the order of their index",
  async (list) => {
    await using server = await startServer();
    if (list === "prompts") await addDeletedPrompts(server, 501);
    const stop = await captureStatements(server);
    for (const page of ["first: 1", "last: 1"])
      expect(await server.run(`{ ${list}(${page}) { nodes { slug } } }`)).toEqual([]);
    const removal = list === "prompts" ? removeDeletedPrompts : removeDeletedDatasets;
    await removal(server.database, new AbortController().signal);
    const statements = stop()
      .map(({ sql }) => sql)
      .filter((sql) => sql.includes(`from "${list}"`));
    const [pages, removals] = [/order by "slug"/, /order by "deleted_at"/].map((order) =>
      statements.filter((sql) => order.test(sql)),
    );
    expect([pages!.length, removals!.length]).toEqual([2, list === "prompts" ? 2 : 1]);
    for (const sql of pages!) expect(await planOf(server, sql)).toContain("(workspace_id=? AND slug<?)");
    // What is left to sort is what was deleted in the same millisecond.
    for (const sql of removals!)
      expect(await planOf(server, sql)).toMatch(
        new RegExp(`USING (?:COVERING )?INDEX ${list}_deleted.*; USE TEMP B-TREE FOR LAST TERM OF ORDER BY$`),
      );
  },
);
