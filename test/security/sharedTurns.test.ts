import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, test, vi } from "vitest";
import { usage } from "../../src/analytics/resolvers.ts";
import type { Context } from "../../src/context.ts";
import { inTransaction } from "../../src/database/transaction.ts";
import { Dataset } from "../../src/datasets/entities.ts";
import { allDatasetRowTexts } from "../../src/datasets/reading.resolvers.ts";
import { dataset } from "../../src/datasets/versions.resolvers.ts";
import { newAnswerBudget } from "../../src/limits/answerBudget.ts";
import { createEventLoopSlots, runShared } from "../../src/limits/eventLoop.ts";
import { createTurns } from "../../src/limits/turns.ts";
import { publishLogs } from "../../src/logs/live.resolvers.ts";
import { mapSpan } from "../../src/logs/otlp/mapping.ts";
import { toSteps } from "../../src/logs/spans.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { addLogs } from "../support/logs.ts";
import { toOtlpSpan } from "../support/otlpFixtures.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";
import { turnsDuring } from "../support/turns.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const workspaceId = await getWorkspaceId(server.database, "default");
const columns = [{ name: "a", type: "text" as const }];

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const workFor = (ms: number) => {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
};

test.each([
  [
    "pieces of work",
    (work: () => void) => {
      const turn = createTurns();
      return Promise.all([turn("one").then(work), turn("one").then(work)]);
    },
  ],
  [
    "requests of a workspace",
    (work: () => void) => {
      const { enter } = createEventLoopSlots(1);
      const request = () =>
        new Promise<void>((done) => {
          const place = enter("one", () => {
            queueMicrotask(() => {
              work();
              place.end();
              done();
            });
          });
        });
      return Promise.all([request(), request()]);
    },
  ],
])(
  "between two %s of 30 ms the event loop turns 30 times, and accepts as many connections",
  async (_, run) => {
    const [begins, ends]: [number[], number[]] = [[], []];
    const turns = await turnsDuring(() =>
      run(() => {
        begins.push(performance.now());
        workFor(30);
        ends.push(performance.now());
      }),
    );
    expect(begins).toHaveLength(2);
    // On a busy machine the turns end when they have taken as long as the work.
    const pauseMs = begins[1]! - ends[0]!;
    expect(pauseMs >= 30 ? 30 : turns).toBeGreaterThanOrEqual(30);
  },
);

test("requests that read large rows at the same time read a piece each, in turns", async () => {
  const rows = Array.from({ length: 20 }, () => ({ values: { a: "x".repeat(1_000_000) } }));
  await addDataset(server, { slug: "read", columns, rows });
  const read = () => server.get("/datasets/read");
  expect(await turnsDuring(() => Promise.all(Array.from({ length: 8 }, read)))).toBeGreaterThan(8 * 19);
});

test("a diff of versions has others served before it reads each, before each of its parts, and after the last", async () => {
  const lines = (changed: string) =>
    Array.from({ length: 5_990 }, (_, n) => `${n % 11 === 5 ? changed : "="}${n % 7}`).join("\n");
  const versions = ["A", "B"].map((version) => ({
    version,
    text: lines(version),
    model: null,
    variables: [],
  }));
  await addPrompt(server, { slug: "compared", versions });
  const turn = vi.spyOn(server.database, "turn");
  expect(await server.run('{ promptDiff(slug: "compared", from: "A", to: "B") }')).toContain("+B5");
  expect(turn.mock.calls.length).toBeGreaterThanOrEqual(8);
  turn.mockRestore();
});

test.each([
  [90_000, /^--- A.*\n\+ {2}B\n$/s, 6],
  [490_000, /^Files A\/messages and B\/messages differ\n$/, 7],
])("a diff of %s lines of messages has others served within it", async (lines, expected, turns) => {
  const slug = `lines-${lines}`;
  await addPrompt(server, { slug });
  for (const version of ["A", "B"])
    await server.run(
      "mutation($slug: String!, $input: PromptVersionInput!) { createPromptVersion(slug: $slug, input: $input) { promptVersion { id } } }",
      { slug, input: { version, messages: [{ role: "user", content: `${"\n".repeat(lines)}${version}` }] } },
    );
  const turn = vi.spyOn(server.database, "turn");
  expect(await server.run(`{ promptDiff(slug: "${slug}", from: "A", to: "B") }`)).toMatch(expected);
  expect(turn.mock.calls.length).toBeGreaterThanOrEqual(turns);
  turn.mockRestore();
});

const contextWith = (budget: Parameters<typeof newAnswerBudget>[0]): Context => ({
  ...commandLineContext(server.database, workspaceId),
  answerBudget: newAnswerBudget(budget),
});

test.each([
  ["without keys", () => ({})],
  ["with keys", (n: number) => ({ "idempotency-key": `turns-${n}` })],
])("the transactions of many callers have others served in between: requests %s", async (kind, headers) => {
  const slug = `turns-${kind.replace(" ", "-")}`;
  await addPrompt(server, { slug, versions: [{ version: "1" }] });
  const publish = (n: number) =>
    server.graphql(
      `mutation { publishPrompt(slug: "${slug}", input: { newTag: "t${n}", to: { version: "1" } }) { promptTag { id } } }`,
      {},
      { headers: headers(n) },
    );
  let turn = 0;
  const answers: number[] = [];
  const all = Array.from({ length: 40 }, async (_, n) => {
    await publish(n);
    answers.push(turn);
  });
  const isOver = Promise.all(all).then(() => true);
  while (!(await Promise.race([isOver, nextTurn(false)]))) turn += 1;
  const inOneTurn = Object.values(Object.groupBy(answers, String)).map((some) => some!.length);
  expect(Math.max(...inOneTurn)).toBeLessThanOrEqual(3);
});

test("the rows of a streamed dataset are read and written in turns of their own", async () => {
  await addDataset(server, {
    slug: "pieces",
    columns,
    rows: Array(6).fill({ values: { a: "x".repeat(2_000_000) } }),
  });
  const context = contextWith({ hold: () => {} });
  const parent = await dataset(context, { slug: "pieces" });
  const turn = vi.spyOn(server.database, "turn");
  const { pieces } = await allDatasetRowTexts(context, parent);
  let count = 0;
  for await (const _ of pieces) count += 1;
  expect(count).toBeGreaterThanOrEqual(3);
  expect(turn.mock.calls.length).toBeGreaterThanOrEqual(2 * count);
  turn.mockRestore();
});

test("a streamed dataset holds memory for its largest piece of rows, and keeps no rows before", async () => {
  const row = (length: number) => ({ values: { a: "y".repeat(length) } });
  const rows = [...Array.from({ length: 90 }, () => row(500_000)), row(3_000_000)];
  await addDataset(server, { slug: "streamed", columns, rows });
  let heldBytes = 0;
  const hold = (bytes: number) => {
    heldBytes += bytes;
  };
  const context = contextWith({ hold });
  const parent = await dataset(context, { slug: "streamed" });
  rows.length = 0;
  collectGarbage();
  const { heapUsed } = process.memoryUsage();
  let count = 0;
  let peak = 0;
  const { pieces } = await allDatasetRowTexts(context, parent);
  for await (const { texts } of pieces) {
    count += texts.length;
    if (count % 10 > 0) continue; // collecting takes 0.2 s
    collectGarbage();
    peak = Math.max(peak, process.memoryUsage().heapUsed);
  }
  expect(count).toBe(91);
  expect(peak - heapUsed).toBeLessThan(20_000_000); // with all rows of the page 45 MB more
  expect(heldBytes).toBeGreaterThan(3_000_000);
  expect(heldBytes).toBeLessThan(3_001_000);
});

test("rows whose columns got long names are sent a few at a time, with others served in between", async () => {
  const named = (n: number) => `${n}`.padEnd(250, "x");
  const keys = Array.from({ length: 300 }, (_, n) => `${n}`);
  const rows = Array.from({ length: 500 }, () => ({
    values: Object.fromEntries(keys.map((key) => [key, 1])),
  }));
  const renamed = keys.map((key, n) => ({ key, name: named(n), type: "text" as const }));
  await addDataset(server, { slug: "renamed", columns: renamed, rows });
  const context = contextWith({});
  const turn = vi.spyOn(server.database, "turn");
  const { pieces } = await allDatasetRowTexts(context, await dataset(context, { slug: "renamed" }));
  const lengths: number[] = [];
  for await (const { texts } of pieces) lengths.push(texts.reduce((sum, text) => sum + text.length, 0));
  const ofRow = 300 * 255;
  expect(Math.max(...lengths)).toBeLessThan(256 * 1024 + 2 * ofRow);
  expect(Math.max(...lengths)).toBeGreaterThan(256 * 1024);
  expect(lengths.reduce((sum, length) => sum + length)).toBeGreaterThan(500 * ofRow);
  expect(turn.mock.calls.length).toBeGreaterThan(3); // 40 MB of texts take 200 ms; all of one page, as before, one turn
  turn.mockRestore();
});

test("an answer holds the memory of a text that is longer than what is stored", async () => {
  const renamed = [{ key: "a", name: "x".repeat(250), type: "text" as const }];
  const rows = Array.from({ length: 490 }, () => ({ values: { a: 1 } }));
  await addDataset(server, { slug: "longer", columns: renamed, rows });
  const held: number[] = [];
  const context = contextWith({ hold: (bytes) => held.push(bytes) });
  const { pieces } = await allDatasetRowTexts(context, await dataset(context, { slug: "longer" }));
  let characters = 0;
  for await (const { texts } of pieces) characters += texts.join("").length;
  expect(held.reduce((sum, bytes) => sum + bytes)).toBeGreaterThanOrEqual(characters);
});

test("a stream for which there is no memory is refused", async () => {
  const context = contextWith({
    hold: () => {
      throw new Error("no memory");
    },
  });
  await addDataset(server, { slug: "refused", columns, rows: [{ values: { a: "z" } }] });
  const { pieces } = await allDatasetRowTexts(context, await dataset(context, { slug: "refused" }));
  await expect(pieces.next()).rejects.toThrow("no memory");
});

test("the groups and latencies of a usage report count towards its size", async () => {
  await addLogs(server, 300, (at) => ({ userId: `user-${at}`, latencyMs: at }));
  const input = { from: new Date(0), to: new Date(Date.now() + 60_000), timeZone: "UTC" };
  const report = (groupBy: "USER" | "MODEL", maxBytes: number) =>
    usage(contextWith({ maxBytes }), { ...input, groupBy, limit: 300 });
  expect(await report("USER", 300 * 200)).toHaveLength(300);
  await expect(report("USER", 300 * 64)).rejects.toMatchObject({ code: "QUERY_TOO_COMPLEX" });
  expect(await report("MODEL", 300 * 16)).toHaveLength(1);
  await expect(report("MODEL", 300 * 8)).rejects.toMatchObject({ code: "QUERY_TOO_COMPLEX" });
});

test("rows are counted and skipped 100,000 at a time, and the counts of several datasets are right", async () => {
  const sizes = [0, 1, 25_000, 100_001];
  const rows = (size: number) => Array.from({ length: size }, () => ({ values: {} }));
  for (const size of sizes) await addDataset(server, { slug: `counted-${size}`, columns, rows: rows(size) });
  const stop = await captureStatements(server);
  const counts = await server.graphql(
    '{ datasets(search: "counted", first: 10) { nodes { slug rowCount } } }',
  );
  const statements = stop().filter(({ sql }) => sql.includes("count("));
  expect(counts.body.data.datasets.nodes).toEqual(
    expect.arrayContaining(sizes.map((size) => ({ slug: `counted-${size}`, rowCount: size }))),
  );
  expect(statements).toHaveLength(3); // 25,000 of each, then 50,000 of two, then the last one
  const stopSkipping = await captureStatements(server);
  const { body } = await server.graphql(
    '{ dataset(slug: "counted-100001") { rows(first: 2, offset: 100001) { nodes { id } } last: rows(first: 2, offset: 100000) { nodes { id } } } }',
  );
  const skipping = stopSkipping().filter(({ sql }) => sql.includes("count("));
  expect([body.data.dataset.rows.nodes.length, body.data.dataset.last.nodes.length]).toEqual([0, 1]);
  expect(skipping).toHaveLength(3); // 100,000 and 1, and 100,000
});

test("a later page of traces looks through the logs of its traces 500 at a time, however few of them match", async () => {
  const rest = Array.from({ length: 1_199 }, (_, n) => ({ id: `s${n}`, type: "span" }));
  for (const name of ["a", "b"])
    await server.post("/monitor/trace", { name, logs: [{ id: "t", type: "tool" }, ...rest] });
  const page = (range: string) =>
    server.run(`{ traces(${range}, filter: { type: [TOOL] }) { nodes { name } pageInfo { endCursor } } }`);
  const { pageInfo } = await page("first: 1");
  const stop = await captureStatements(server);
  expect(await page(`first: 5, after: "${pageInfo.endCursor}"`)).toMatchObject({ nodes: [{ name: "a" }] });
  const steps = stop().filter(({ sql }) => /from ["`]logs["`].*trace_id["`] in/s.test(sql));
  expect(steps.length).toBeGreaterThan(5); // the end of each of three steps, and what is in it
});

test("a request that writes waits for a turn before it reads, as all whose writes share a commit go on at once", async () => {
  await addPrompt(server, { slug: "written", versions: [{ version: "1" }] });
  const turn = vi.spyOn(server.database, "turn");
  await server.run('{ prompt(slug: "written") { availableVersions } }');
  expect(turn).not.toHaveBeenCalled();
  await server.run(
    'mutation { logPrompt(input: { slug: "written", output: "a" }) { log { prompt { availableVersions } } } }',
  );
  expect(turn).toHaveBeenCalledWith(workspaceId);
  turn.mockRestore();
});

test("many logs are published to many listeners with others served in between", async () => {
  const publish = vi.spyOn(server.database.pubSub, "publish").mockImplementation(() => workFor(5));
  const logs = Array.from({ length: 20 }, (_, n) => ({ id: String(n), trace: "", promptSlug: null }));
  const context = commandLineContext(server.database, workspaceId);
  expect(await turnsDuring(() => publishLogs(context, workspaceId, logs))).toBeGreaterThan(20);
  expect(publish).toHaveBeenCalledTimes(20);
  const trace = { name: "a", logs: Array.from({ length: 20 }, (_, n) => ({ id: `${n}`, type: "span" })) };
  const withKey = () => server.post("/monitor/trace", trace, { headers: { "idempotency-key": "published" } });
  expect(await turnsDuring(withKey)).toBeGreaterThan(60); // after the commit; 2 without a pause on SQLite
  expect(publish).toHaveBeenCalledTimes(40);
  publish.mockRestore();
});

test("spans with many members are made storable with others served in between", async () => {
  const members = Object.fromEntries(Array.from({ length: 24_000 }, (_, n) => [`k${n}`, `v${n}`]));
  const spans = Array.from({ length: 8 }, () =>
    mapSpan(toOtlpSpan({ attributes: { "basalt.metadata": members } })),
  );
  const turn = vi.spyOn(server.database, "turn");
  await toSteps(commandLineContext(server.database, workspaceId), workspaceId, spans);
  expect(turn.mock.calls.length).toBeGreaterThan(3);
  turn.mockRestore();
});

test("transactions of a workspace run one at a time, and another workspace does not wait for all that came before", async () => {
  const order: string[] = [];
  let running = 0;
  let mostAtOnce = 0;
  const write = (workspace: string) =>
    runShared(workspace, () =>
      inTransaction(server.database.fork(workspaceId), async (em) => {
        if (workspace === "one") running += 1;
        mostAtOnce = Math.max(mostAtOnce, running);
        await em.count(Dataset);
        if (workspace === "one") running -= 1;
        order.push(workspace);
      }),
    );
  const all = () => Promise.all([...Array.from({ length: 60 }, () => write("one")), write("two")]);
  await all(); // PostgreSQL opens its connections here
  order.length = 0;
  await all();
  expect(mostAtOnce).toBe(1);
  expect(order).toHaveLength(61);
  expect(order.indexOf("two")).toBeLessThan(12);
});

test("values of a removed column are parsed with others served in between", async () => {
  const values = (row: number) =>
    Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`${row}m${n}`, n]));
  const rows = Array.from({ length: 400 }, (_, row) => ({ values: { gone: values(row), a: "a" } }));
  await addDataset(server, { slug: "removed", columns, rows });
  const context = contextWith({});
  const turn = vi.spyOn(server.database, "turn");
  const { pieces } = await allDatasetRowTexts(context, await dataset(context, { slug: "removed" }));
  const read: number[] = [];
  for await (const { texts } of pieces) read.push(texts.length);
  expect(read.reduce((sum, texts) => sum + texts)).toBe(400);
  expect(turn.mock.calls.length).toBeGreaterThan(2); // 120,000 members take 0.2 s
  turn.mockRestore();
});

test.each([
  ["by POST", (query: string) => server.graphql(query)],
  ["by GET", (query: string) => server.get(`/graphql?query=${encodeURIComponent(query)}`)],
])("many numbers are written in pieces, also beside an error: %s", async (_, ask) => {
  const numbers = Array(20_000).fill(0.1409862966177131); // V8 takes some 2 microseconds to write it
  const { body } = await server.post("/monitor/log", { slug: "numbers", output: 1, metadata: { numbers } });
  const times = [1, 2, 3];
  const logs = times.map((n) => `a${n}: log(id: "${body.log.id}") { metadata }`).join();
  const stringify = vi.spyOn(JSON, "stringify");
  const answer = await ask(`{ ${logs}, none: dataset(slug: "none") { id } }`);
  const lengths = stringify.mock.results.map(({ value }) => value?.length ?? 0);
  stringify.mockRestore();
  expect(answer.body).toEqual({
    data: { ...Object.fromEntries(times.map((n) => [`a${n}`, { metadata: { numbers } }])), none: null },
    errors: [
      expect.objectContaining({
        path: ["none"],
        extensions: expect.objectContaining({ code: "DATASET_NOT_FOUND" }),
      }),
    ],
  });
  expect(lengths.filter((length) => length > 50_000)).toEqual([]);
});
