import { v7 as uuidv7 } from "uuid";
import { afterAll, expect, test, vi } from "vitest";
import { countTracesBefore, pruneTraces } from "../../src/logs/prune.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addLogs, logLister, names, TRACES } from "../support/logs.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const listLogs = logLister(server);

const at = (minute: number) => new Date(Date.UTC(2026, 0, 31, 10, minute)).toISOString();

const start = Date.UTC(2026, 5, 1);
const many = await addLogs(server, 5_000, (at) => ({
  promptSlug: "many",
  startTime: new Date(start + ((at * 7_919) % 5_000) * 1_000),
  cost: (at % 100) / 100,
  userId: at % 3 === 0 ? `user-${at % 30}` : null,
  input: at % 2 === 0 ? "an even thing" : "an odd thing",
  output: at % 1_000 === 7 ? "a needle" : "hay",
  metadata: at % 10 === 0 ? { step: at % 50 } : null,
}));

test("pages follow each other without a gap or a repetition, while new logs arrive and old ones are late", async () => {
  await using own = await startServer();
  const listOwn = logLister(own);
  const all = Array.from({ length: 14 }, (_, minute) => `log ${minute}`).toReversed();
  const add = (minute: number, name: string) =>
    own.post("/monitor/log", { slug: "guide", output: 1, startTime: at(minute), name });
  for (let minute = 0; minute < 14; minute++) await add(minute, `log ${minute}`);
  const since = { from: at(0), to: at(59) };
  const paged: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await listOwn(since, 4, after);
    paged.push(...names(page));
    if (page.length < 4) break;
    after = page.at(-1)!.cursor;
    await add(58, "new");
  }
  expect(paged).toEqual(all);
  const [newest] = await listOwn({ slug: "guide" }, 1);
  expect(newest!.name).toBe("new");
  const [second] = await own.run(TRACES, { f: { to: at(14) }, n: 1, a: newest!.cursor });
  expect(second.name).toBe("log 13");
});

test("logs that began in the same millisecond keep one order over the pages", async () => {
  const slug = "same-time";
  const { ids } = await addLogs(server, 30, () => ({ promptSlug: slug, startTime: new Date(at(0)) }));
  const paged: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await listLogs({ slug }, 7, after);
    after = page.at(-1)?.cursor;
    paged.push(...page.map(({ id }) => id));
    if (page.length < 7) break;
  }
  expect(paged).toEqual(ids.toReversed());
});

test("traces are listed by the first log of each; more are read of those that begin with an internal one, 500 at a time", async () => {
  await using own = await startServer();
  const sizes = [1, 2, 499, 500, 501, 1_000, 1_001];
  const named = { first: 0, last: -1, none: undefined }; // where the one log is that is not internal
  const traces = sizes.flatMap((size) =>
    Object.entries(named).map(([where, place]) => ({ name: `${where} of ${size}`, size, place })),
  );
  const listTraces = async () => {
    const stop = await captureStatements(own);
    const listed = names(await own.run(TRACES, { n: 100 }));
    return {
      listed: listed.toSorted(),
      ofLogs: stop().filter(({ sql }) => /^select (distinct )?.trace_id/.test(sql)),
    };
  };
  const store = async (some: typeof traces) => {
    const made = await addLogs(own, some.length, (at) => ({ output: some[at]!.name }));
    for (const [at, { name, size, place }] of some.entries()) {
      const { id, trace, ...first } = made.rows[at]!;
      await own.database.write.updateTable("Trace").set({ name }).where("id", "=", trace).execute();
      await own.database.write.deleteFrom("Log").where("id", "=", id).execute();
      const types = Array(size).fill("internal");
      if (place !== undefined) types[(place + size) % size] = "span";
      const rows = types.map((type) => ({ ...first, id: uuidv7(), trace, type }));
      for (let from = 0; from < size; from += 500)
        await own.database.commit(rows.slice(from, from + 500).map((row) => ["Log", row]));
    }
  };
  await store(traces.filter(({ place }) => place === 0));
  const visible = (some: typeof traces) =>
    some.flatMap(({ name, place }) => (place === undefined ? [] : [name])).toSorted();
  expect(await listTraces()).toEqual({
    listed: visible(traces.filter(({ place }) => place === 0)),
    ofLogs: [],
  });
  await store(traces.filter(({ place }) => place !== 0));
  const { listed, ofLogs } = await listTraces();
  expect(listed).toEqual(visible(traces));
  expect(ofLogs.length).toBeGreaterThanOrEqual(14);
  for (const { sql } of ofLogs) expect(sql).toContain("limit");
});

test("among thousands of logs each filter finds the same as looking at every one of them", async () => {
  const { rows } = many;
  const newestFirst = rows.toSorted((a, b) => b.startTime.getTime() - a.startTime.getTime());
  type Row = (typeof rows)[number];
  const cases: [object, (row: Row) => boolean][] = [
    [{ text: "needle" }, ({ output }) => output === "a needle"],
    [{ text: "even" }, ({ input }) => input === "an even thing"],
    [{ text: "even needle" }, () => false],
    [{ text: "thing", minCost: 0.99 }, ({ cost }) => cost === 0.99],
    [
      { text: "odd", userId: "user-3" },
      ({ input, userId }) => input === "an odd thing" && userId === "user-3",
    ],
    [{ minCost: 0.99 }, ({ cost }) => cost === 0.99],
    [{ metadata: [{ key: "step", value: 30 }] }, ({ metadata }) => metadata?.step === 30],
    [{ userId: "user-3", maxCost: 0.2 }, ({ userId, cost }) => userId === "user-3" && cost! <= 0.2],
  ];
  for (const [filter, fits] of cases) {
    const expected = newestFirst.filter(fits).map(({ id }) => id);
    const paged: string[] = [];
    for (let after: string | undefined; ; ) {
      const page = await listLogs({ slug: "many", ...filter }, 100, after);
      after = page.at(-1)?.cursor;
      paged.push(...page.map(({ id }) => id));
      if (page.length < 100) break;
    }
    expect([filter, paged]).toEqual([filter, expected]);
  }
}, 60_000);

test("filters that no index answers let others be served in between", async () => {
  let turns = 0;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  expect(await listLogs({ slug: "many", version: "none" })).toEqual([]);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(2);
});

test.skipIf(isOnPostgresql)(
  "on SQLite: words are looked up in another process, so that no search holds others up",
  async () => {
    const connection = server.database.orm.em.getConnection("read") as unknown as Handle;
    const handle = await connection.getNativeClient();
    const prepare = vi.spyOn(handle, "prepare");
    try {
      expect(await listLogs({ slug: "many", text: "needle" })).toHaveLength(5);
      expect(await listLogs({ slug: "many", text: "thing", minCost: 2 })).toEqual([]);
      expect(prepare).toHaveBeenCalled();
      expect(prepare.mock.calls.filter(([text]) => text.includes("log_texts"))).toEqual([]);
    } finally {
      prepare.mockRestore();
    }
  },
);

interface Handle {
  getNativeClient(): Promise<{ prepare(text: string): unknown }>;
}

test("what is pruned is not found any more, neither by its words nor by its time", async () => {
  await addLogs(server, 3, () => ({
    promptSlug: "old",
    output: "forgettable",
    startTime: new Date("2020-01-01"),
  }));
  const count = async () => (await server.database.orm.em.fork().execute(INDEXED))[0]!.found;
  expect(names(await listLogs({ text: "forgettable" }))).toHaveLength(3);
  expect(await count()).toBe(3);
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  await pruneTraces(context, { before: new Date("2021-01-01") });
  expect(await listLogs({ text: "forgettable" })).toEqual([]);
  expect(await count()).toBe(0);
});

test("a step of a removal deletes 16 MB of logs, or one larger log, however short those before were", async () => {
  await using own = await startServer();
  const { dialect } = own.database;
  // The ids of the traces are in the opposite order of their times.
  const make = (length: number) => (n: number) => ({
    output: "x".repeat(length),
    startTime: new Date(start - n * 1_000),
  });
  const long = await addLogs(own, 40, make(1_500_000));
  const short = await addLogs(own, 300, (n) => ({
    ...make(1)(n),
    startTime: new Date(start - 86_400_000 - n),
  }));
  const lengths = new Map<unknown, number>();
  for (const { id, trace, output } of [...long.rows, ...short.rows])
    for (const key of [id, trace]) lengths.set(key, String(output).length);
  const traceOf = new Map<unknown, string>([...long.rows, ...short.rows].map(({ id, trace }) => [id, trace]));
  const deleted: number[] = [];
  const { runSteps } = dialect;
  const spy = vi.spyOn(dialect, "runSteps").mockImplementation((orm, steps) =>
    runSteps(orm, function* () {
      const work = steps();
      let step = work.next();
      while (!step.done) {
        const { statement, values } = step.value;
        if (statement.startsWith("delete"))
          deleted.push(values.reduce<number>((sum, id) => sum + (lengths.get(id) ?? 0), 0));
        if (/^delete from .logs/.test(statement)) for (const id of values) lengths.delete(traceOf.get(id));
        step = work.next(yield step.value);
      }
      // A busy machine would have the steps become shorter.
      if (step.value instanceof Object) Object.assign(step.value, { tookMs: 0 });
      return step.value;
    }),
  );
  const before = new Date(start + 1).toISOString();
  const pruned = await own.run(`mutation { pruneTraces(input: { before: "${before}" }) { traces } }`);
  expect(pruned).toEqual({ traces: 340 });
  expect(Math.max(...deleted)).toBeLessThanOrEqual(16 * 1024 * 1024);
  expect(Math.max(...deleted)).toBeGreaterThan(14_000_000);
  spy.mockRestore();
});

test("what began at the very time before which is pruned stays", async () => {
  const bound = new Date("2019-01-01T00:00:00.000Z");
  for (const [output, startTime] of [
    ["before", "2018-12-31T23:59:59.999Z"],
    ["at the bound", bound.toISOString()],
  ])
    await server.post("/monitor/log", { slug: "bounded", output, startTime });
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  expect(await countTracesBefore(context, bound)).toBe(1);
  expect(await pruneTraces(context, { before: bound })).toMatchObject({ traces: 1 });
  expect(await countTracesBefore(context, new Date(bound.getTime() + 1))).toBe(1);
});

const INDEXED = `select count(*) as found from log_texts where ${isOnPostgresql ? "body like '% forgettable %'" : "log_texts match 'forgettable'"}`;

test("of a huge input the first 100,000 characters are found, and it does no harm", async () => {
  const input = { text: `beginning ${"x ".repeat(60_000)} ending` };
  await server.post("/monitor/log", { slug: "huge", input, output: "tail" });
  const found = async (text: string) => (await listLogs({ slug: "huge", text })).length;
  expect([await found("beginning"), await found("tail"), await found("ending")]).toEqual([1, 1, 0]);
});
