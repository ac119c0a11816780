import { spawn } from "node:child_process";
import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { removeTraces } from "../../src/logs/prune.resolvers.ts";
import { removeExpiredTraces } from "../../src/logs/retention.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addWorkspace } from "../support/data.ts";
import { addLogs, logLister } from "../support/logs.ts";
import { program } from "../support/program.ts";
import { isOnPostgresql, type Server, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";
import { turnsDuring } from "../support/turns.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const workspaceId = await getWorkspaceId(server.database, "default");
const listLogs = logLister(server);

const PRUNE =
  "mutation($before: DateTime!, $dryRun: Boolean) { pruneTraces(input: { before: $before, dryRun: $dryRun }) { before traces dryRun } }";
const RETENTION =
  "{ retention { days before traces oldestStartTime run { removed } lastRun { before endedAt removed token } } }";

const log = (startTime: string, output: string, token?: string) =>
  server.post("/monitor/log", { slug: "aging", output, startTime }, token === undefined ? {} : { token });

beforeEach(async () => void (await server.database.write.deleteFrom("Trace").execute()));

interface Counts {
  traces: number;
  logs: number;
  words: number;
}

async function countsOf({ database }: Pick<Server, "database">): Promise<Counts> {
  const [row] = await database.orm.em
    .fork()
    .execute<Counts[]>(
      `select (select count(*) from traces) as traces, (select count(*) from logs) as logs, (select count(*) from ${isOnPostgresql ? "log_texts" : "log_texts_docsize"}) as words`,
    );
  return { traces: Number(row!.traces), logs: Number(row!.logs), words: Number(row!.words) };
}

/** Stores one trace with so many logs. */
async function addTree(
  { database }: Server,
  workspace: string,
  size: number,
  startTime: Date,
  of?: string,
): Promise<string> {
  const trace = of ?? uuidv7();
  const times = { startTime, createdAt: startTime, endTime: null };
  const parties = { organization: null, user: null, metadata: null };
  const log = () => ({
    ...{
      id: uuidv7({ msecs: startTime.getTime() }),
      workspace,
      trace,
      type: "span",
      prompt: null,
      promptSlug: "tree",
      output: "branch",
    },
    ...{ version: null, tag: null, provider: null, model: null, userId: null, organizationId: null },
    ...{ input: null, idealOutput: null, variables: null, metadata: null, latencyMs: null, cost: null },
    ...{ inputTokens: null, outputTokens: null, costSource: "NONE", searchId: null, ...times },
  });
  const traces = of ? [] : [["Trace", { id: trace, workspace, name: "tree", ...parties, ...times }]];
  const logs = Array.from({ length: size }, () => ["Log", log()]);
  await database.commit([...traces, ...logs] as Parameters<typeof database.commit>[0]);
  return trace;
}

test("what began earlier goes with its words; what began at the time or later stays", async () => {
  await log("2020-01-01T00:00:00Z", "forgotten");
  await log("2020-12-31T23:59:59.999Z", "forgotten");
  await log("2021-01-01T00:00:00Z", "remembered");
  await log("2021-06-01T00:00:00Z", "remembered");
  const before = "2021-01-01T00:00:00.000Z";
  expect(await server.run(PRUNE, { before })).toEqual({ before, traces: 2, dryRun: false });
  expect(await listLogs({ text: "forgotten" })).toEqual([]);
  expect(await listLogs({ text: "remembered" })).toHaveLength(2);
  expect(await countsOf(server)).toEqual({ traces: 2, logs: 2, words: 2 });
});

test("a dry run counts what would be removed, and removes nothing", async () => {
  await log("2019-01-01T00:00:00Z", "counted");
  const before = "2020-01-01T00:00:00.000Z";
  const audited = () => server.run("{ auditLog(first: 100) { nodes { id } } }");
  const [counts, entries] = [await countsOf(server), await audited()];
  expect(await server.run(PRUNE, { before, dryRun: true })).toEqual({ before, traces: 1, dryRun: true });
  expect(await countsOf(server)).toEqual(counts);
  expect(await audited()).toEqual(entries);
  expect(await server.run(PRUNE, { before })).toMatchObject({ traces: 1 });
});

test("a token removes traces of its own workspace only", async () => {
  const other = await addWorkspace(server, "other");
  await log("2018-01-01T00:00:00Z", "ours");
  await log("2018-01-01T00:00:00Z", "theirs", other.token);
  expect(await server.run(PRUNE, { before: "2019-01-01" })).toMatchObject({ traces: 1 });
  expect(await listLogs({ text: "theirs" }, undefined, undefined, other.token)).toHaveLength(1);
  expect(await server.run(PRUNE, { before: "2019-01-01" }, other.token)).toMatchObject({ traces: 1 });
});

test("a count of more traces than one statement counts is exact", async () => {
  await using own = await startServer();
  await addLogs(own, 25_001, (at) => ({ startTime: new Date(Date.UTC(2017, 0, 1) + (at % 100)) }));
  const counted = { before: "2018-01-01", dryRun: true };
  expect(await own.run(PRUNE, counted)).toMatchObject({ traces: 25_001 });
});

test("a large trace is removed in steps of few logs, with others served in between", async () => {
  await using own = await startServer(); // whose connections have prepared no statement before
  const ownWorkspace = await getWorkspaceId(own.database, "default");
  await addTree(own, ownWorkspace, 1_500, new Date("2016-01-01"));
  await addTree(own, ownWorkspace, 3, new Date("2016-01-02"));
  const before = await countsOf(own);
  const most = own.database.dialect.maxRemovedRows;
  const stop = await captureStatements(own);
  const turns = await turnsDuring(() => own.run(PRUNE, { before: "2017-01-01" }));
  const deletions = stop().filter(({ sql }) => /^delete from [`"](?:logs|traces)/.test(sql));
  for (const { sql } of deletions) expect(sql.match(/\?|\$\d+/g)!.length).toBeLessThanOrEqual(most / 2 + 1);
  expect(deletions.length).toBeGreaterThan(3);
  expect(turns).toBeGreaterThan(1_500 / most);
  expect(await countsOf(own)).toEqual({
    traces: before.traces - 2,
    logs: before.logs - 1_503,
    words: before.words - 1_503,
  });
});

test("logs that arrive before the last one that was removed go in steps, too, and not with their trace", async () => {
  const trace = await addTree(server, workspaceId, 1_500, new Date("2016-01-01"));
  const { dialect } = server.database;
  const runSteps = dialect.runSteps.bind(dialect);
  const left: number[] = [];
  const spy = vi.spyOn(dialect, "runSteps").mockImplementation((async (
    ...given: Parameters<typeof runSteps>
  ) => {
    const result = await runSteps(...given);
    if (left.length === 1) await addTree(server, workspaceId, 600, new Date("2015-01-01"), trace);
    left.push((await countsOf(server)).logs);
    return result;
  }) as typeof runSteps);
  expect(await server.run(PRUNE, { before: "2017-01-01" })).toMatchObject({ traces: 1 });
  spy.mockRestore();
  expect(Math.max(...left)).toBeGreaterThan(1_500);
  const removed = left.map((logs, at) => (left[at - 1] ?? logs) - logs);
  expect(Math.max(...removed)).toBeLessThanOrEqual(dialect.maxRemovedRows / 2);
  expect(await countsOf(server)).toMatchObject({ traces: 0, logs: 0, words: 0 });
});

test("writes of others are stored between the steps of a removal", async () => {
  await addLogs(server, 3_000, () => ({ startTime: new Date("2015-01-01") }));
  await log("2025-01-01T00:00:00Z", "before"); // the first log of a process loads the list of prices
  let isOver = false;
  const removing = server.run(PRUNE, { before: "2016-01-01" }).finally(() => {
    isOver = true;
  });
  const steps = vi.spyOn(server.database.dialect, "runSteps");
  let [written, most] = [0, 0];
  for (; !isOver; written++) {
    const before = steps.mock.calls.length;
    expect((await log("2025-01-01T00:00:00Z", "meanwhile")).status).toBe(200);
    most = Math.max(most, steps.mock.calls.length - before);
    await nextTurn();
  }
  const all = steps.mock.calls.length;
  steps.mockRestore();
  expect(most).toBeLessThan(all / 2); // a write waits in the queue of the database, not for the end of the removal
  expect(await removing).toMatchObject({ traces: 3_000 });
  expect(written).toBeGreaterThan(3);
  expect(await listLogs({ text: "meanwhile" }, 100)).toHaveLength(Math.min(100, written));
});

test("an interrupted run leaves a record, and the next one removes the rest", async () => {
  await addLogs(server, 800, () => ({ startTime: new Date("2014-01-01") }));
  const before = new Date("2015-01-01");
  const closing = new AbortController();
  const context = commandLineContext(server.database, workspaceId);
  const removing = removeTraces(context, workspaceId, before, closing.signal);
  await vi.waitUntil(async () => (await server.run(RETENTION)).run?.removed > 0, {
    interval: 0,
    timeout: 30_000,
  });
  closing.abort();
  const first = (await removing)!;
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(800);
  const { run, lastRun } = await server.run(RETENTION);
  expect(run).toBeNull();
  expect(lastRun).toMatchObject({ before: before.toISOString(), removed: first, token: "command line" });
  expect(await server.run(PRUNE, { before })).toMatchObject({ traces: 800 - first });
});

test("a run that is under way when the service stops ends, and both its answer and its record tell so", async () => {
  await using own = await startServer();
  const size = 4_000;
  await addLogs(own, size, () => ({ startTime: new Date("2014-01-01") }));
  const removing = fetch(`${own.url}/graphql`, {
    method: "POST",
    headers: { authorization: `Bearer ${own.token}`, "content-type": "application/json" },
    body: JSON.stringify({ query: PRUNE, variables: { before: "2015-01-01" } }),
  });
  const isUnderWay = async () => (await own.run(RETENTION)).run?.removed > 0;
  await vi.waitUntil(isUnderWay, { interval: 0, timeout: 30_000 });
  await own.app.close();
  const { errors } = (await (await removing).json()) as { errors: { extensions: { code: string } }[] };
  expect(errors[0]!.extensions.code).toBe("UNAVAILABLE");
  const database = await openDatabase(own.databaseUrl, entities);
  const entries = await database.read.selectFrom("AuditEntry").select(["action", "after"]).execute();
  const { traces } = await countsOf({ database });
  await database.close();
  expect(traces).toBeGreaterThan(0);
  expect(entries).toMatchObject([{ action: "pruneTraces", after: { removed: size - traces } }]);
});

test("what a killed run has removed is gone with its words, and the next run removes the rest", async () => {
  await using own = await startServer();
  const size = 4_000;
  await addLogs(own, size, () => ({ startTime: new Date("2014-01-01"), output: "killed" }));
  const env = { PATH: process.env.PATH, DATABASE_URL: own.databaseUrl };
  const child = spawn(process.execPath, [program, "prune", "--older-than", "52w"], { env, stdio: "ignore" });
  const ended = once(child, "exit");
  await vi.waitUntil(async () => (await countsOf(own)).traces < size, { interval: 0, timeout: 30_000 });
  child.kill("SIGKILL");
  expect((await ended)[1]).toBe("SIGKILL");
  const { traces, logs, words } = await countsOf(own);
  expect(traces).toBeGreaterThan(0);
  expect(words).toBe(logs);
  // PostgreSQL frees the lock once it sees that the connection is gone.
  const rest = await vi.waitFor(async () => {
    const { error, ...payload } = await own.run(PRUNE, { before: "2015-01-01" });
    expect(error).toBeUndefined();
    return payload;
  }, 30_000);
  expect(rest).toMatchObject({ traces });
  expect(await countsOf(own)).toEqual({ traces: 0, logs: 0, words: 0 });
}, 30_000);

test("a second removal in a workspace is refused while one is under way, in another workspace it is not", async () => {
  const other = await addWorkspace(server, "busy");
  await addLogs(server, 2_000, () => ({ startTime: new Date("2013-01-01") }));
  const before = "2014-01-01";
  const [one, two, third] = await Promise.all([
    server.run(PRUNE, { before }),
    server.run(PRUNE, { before }),
    server.run(PRUNE, { before }, other.token),
  ]);
  expect([one.traces, two.traces].filter(Boolean)).toEqual([2_000]);
  expect([one, two].find(({ error }) => error).error.code).toBe("CONFLICT");
  expect(third).toMatchObject({ traces: 0 });
});

test.skipIf(!isOnPostgresql)(
  "on PostgreSQL, a removal that loses the connection which holds its lock says what it has removed",
  async () => {
    await addLogs(server, 3_000, () => ({ startTime: new Date("2011-01-01") }));
    const removing = server.run(PRUNE, { before: "2012-01-01" });
    const end =
      "select pg_terminate_backend(pid) as ended from pg_locks where locktype = 'advisory' and objsubid = 2 and pid <> pg_backend_pid() and database = (select oid from pg_database where datname = current_database())";
    await expect
      .poll(() => server.database.orm.em.fork().execute(end), { interval: 1 })
      .toEqual([{ ended: true }]);
    expect(await removing).toMatchObject({ traces: 3_000 });
  },
);

test("two gateways remove each trace once, on PostgreSQL one of them all", async () => {
  await addLogs(server, 600, () => ({ startTime: new Date("2012-01-01") }));
  const elsewhere = await openDatabase(server.databaseUrl, entities, { poolSize: 5 });
  try {
    const removed = await Promise.all(
      [server.database, elsewhere].map((database) =>
        removeTraces(commandLineContext(database, workspaceId), workspaceId, new Date("2013-01-01")),
      ),
    );
    expect((removed[0] ?? 0) + (removed[1] ?? 0)).toBe(600);
    if (isOnPostgresql) expect(removed).toContain(null);
  } finally {
    await elsewhere.close();
  }
});

test("the service removes what is older than GABBRO_RETENTION in all workspaces within a minute", async () => {
  vi.useFakeTimers({ toFake: ["setInterval"] });
  try {
    await using own = await startServer({ retentionDays: 30 });
    const other = await addWorkspace(own, "other");
    const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000 - 30 * 86_400_000;
    for (const token of [own.token, other.token])
      for (const startTime of [midnight - 1, midnight])
        await own.post("/monitor/log", { slug: "aging", output: "o", startTime }, { token });
    const before = new Date(midnight).toISOString();
    const kept = { days: 30, before, run: null };
    const oldestStartTime = new Date(midnight - 1).toISOString();
    expect(await own.run(RETENTION)).toEqual({ ...kept, traces: 1, oldestStartTime, lastRun: null });
    vi.advanceTimersByTime(60_000);
    await vi.waitUntil(async () => (await own.run(RETENTION, {}, other.token)).lastRun, {
      interval: 5,
      timeout: 30_000,
    });
    expect(await own.run(RETENTION)).toEqual({
      ...{ ...kept, traces: 0, oldestStartTime: before },
      lastRun: { before, endedAt: expect.any(String), removed: 1, token: "retention" },
    });
    expect(await countsOf(own)).toEqual({ traces: 2, logs: 2, words: 2 });
  } finally {
    vi.useRealTimers();
  }
});

test("a workspace with many old traces leaves a turn to the others in each run", async () => {
  await using own = await startServer();
  const other = await addWorkspace(own, "other");
  const startTime = "2010-01-01T00:00:00.000Z";
  await own.post("/monitor/log", { slug: "aging", output: "o", startTime }, { token: other.token });
  await addLogs(own, 4_000, () => ({ startTime: new Date(startTime) }));
  const oldest = async (token: string) => (await own.run(RETENTION, {}, token)).oldestStartTime;
  // Removing 4,000 takes 400 ms on a fast machine; on a slow one 20 ms may not do for a single step.
  for (let turnMs = 20; (await oldest(other.token)) !== null; turnMs += 20)
    await removeExpiredTraces(own.database, 365, undefined, turnMs);
  expect(await oldest(own.token)).toBe(startTime);
  await removeExpiredTraces(own.database, 365);
  expect(await oldest(own.token)).toBeNull();
});

test("a run that finds nothing leaves no entry in the audit log, and without GABBRO_RETENTION all is kept", async () => {
  await using own = await startServer();
  await own.post("/monitor/log", { slug: "aging", output: "o", startTime: "1999-01-01T00:00:00Z" });
  expect(await own.run(RETENTION)).toEqual({
    ...{ days: null, before: null, traces: 0, run: null, lastRun: null },
    oldestStartTime: "1999-01-01T00:00:00.000Z",
  });
  await removeExpiredTraces(own.database, 36_500);
  expect(await own.run("{ auditLog { nodes { id } } }")).toEqual([]);
  expect(await countsOf(own)).toMatchObject({ traces: 1 });
});

test("lists, trees and usage read no column that a client fills at any length", async () => {
  const { body } = await log("2026-01-01T00:00:00Z", "unread");
  const trace = (await server.run(`{ log(id: "${body.log.id}") { trace { id } } }`)).trace.id;
  const usage = 'usage(from: "2026-01-01", to: "2026-02-01") { nodes { logs cost } }';
  const stop = await captureStatements(server);
  for (const query of [
    "{ logs { nodes { id type status startTime latencyMs cost } } }",
    "{ traces { nodes { id startTime } } }",
    `{ trace(id: "${trace}") { logs { nodes { id parentId depth offsetMs subtree { logs cost } } } } }`,
    `{ ${usage} }`,
  ])
    expect((await server.graphql(query)).body.errors).toBeUndefined();
  const reads = stop().filter(({ sql }) => /from [`"](?:logs|traces)[`"]/.test(sql));
  expect(reads.length).toBeGreaterThanOrEqual(4);
  for (const { sql } of reads)
    expect(sql).not.toMatch(
      /[`"](?:input|output|ideal_output|variables|metadata|attributes|events)[`"]|\*(?!\))/,
    );
});
