import { afterAll, expect, test, vi } from "vitest";
import { MAX_PIECE_BYTES } from "../../src/database/pieces.ts";
import { logsOfPeriod } from "../../src/logs/export.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addLogs } from "../support/logs.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";
import { captureStatements, type Statement } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const MEGABYTE = 1024 * 1024;
const text = (megabytes: number) => "word ".repeat((megabytes * MEGABYTE) / 5);
const shared = ["input", "output", "ideal_output", "metadata", "evaluators"];
const payload: Record<string, string[]> = {
  logs: [...shared, "variables", "status_message", "aggregate_usage", "attributes", "events"],
  traces: [...shared, "name", "organization", "user"],
};

await addLogs(server, 12, (at) => ({
  promptSlug: "long",
  output: text(3),
  input: [at],
  metadata: { at, kind: "many", long: text(1) },
}));

/** The columns at any length that were read, once for each statement; what is only measured is not read. */
function columnsRead(statements: Statement[]): string[] {
  return statements.flatMap(({ sql }) => {
    const [, selected, table] = /^\s*select (.*?) from [`"](logs|traces)[`"]/is.exec(sql) ?? [];
    if (!selected) return [];
    if (selected.includes("*")) return payload[table!]!;
    const read = selected.replaceAll(/octet_length\([^)]*\)/g, "").replaceAll(/ as [`"]\w+[`"]/g, "");
    return payload[table!]!.filter((name) => new RegExp(`[\`"]${name}[\`"]`).test(read));
  });
}

async function readBy(query: string) {
  await server.graphql(query); // the token is cached from then on
  const stop = await captureStatements(server);
  const { body } = await server.graphql(query);
  const statements = stop();
  return { body, statements, read: columnsRead(statements) };
}

const ofLong = 'filter: { slug: "long" }';

test.each([
  ["the ids of logs", `{ logs(${ofLong}) { nodes { id } } }`],
  [
    "what else is short",
    `{ logs(${ofLong}) { nodes { id startTime endTime cost latencyMs version model type } } }`,
  ],
  ["the ids of traces", `{ traces(${ofLong}) { nodes { id startTime logs { nodes { id } } } } }`],
  [
    "relations",
    `{ logs(${ofLong}) { nodes { id trace { id endTime logs { nodes { id trace { id } } } } prompt { slug } } } }`,
  ],
])("a list reads nothing that callers send at any length unless it is asked for: %s", async (_, query) => {
  const { body, statements, read } = await readBy(query);
  expect(body.errors).toBeUndefined();
  expect(statements.length).toBeGreaterThan(0);
  expect(read).toEqual([]);
});

test("a list reads the one column that is asked for, and of a log alone it is the same", async () => {
  const { body, read } = await readBy(`{ logs(${ofLong}) { nodes { id input } } }`);
  expect(body.data.logs.nodes.map(({ input }: { input: unknown }) => input)).toContainEqual([11]);
  expect(new Set(read)).toEqual(new Set(["input"]));
  const [{ id }] = body.data.logs.nodes;
  const alone = await readBy(`{ log(id: "${id}") { metadata trace { name } } }`);
  expect(alone.body.data.log).toMatchObject({
    metadata: { at: expect.any(Number) },
    trace: { name: "made" },
  });
  expect(alone.read.toSorted()).toEqual(["metadata", "name"]);
});

test("what was just logged is answered without being read back", async () => {
  const { body, read } = await readBy(
    'mutation { logPrompt(input: { slug: "x", output: [1], metadata: { a: 1 } }) { log { output metadata input } trace { name metadata } } }',
  );
  expect(body.data.logPrompt).toMatchObject({
    log: { output: [1], metadata: { a: 1 }, input: null },
    trace: { name: "x", metadata: { a: 1 } },
  });
  expect(read).toEqual([]);
});

test("an answer larger than 32 MB is refused by the lengths, before anything is read", async () => {
  const { body, read } = await readBy(`{ logs(${ofLong}) { nodes { output } } }`);
  expect(body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
  expect(read).toEqual([]);
});

test("a log that is asked for twelve times counts twelve times", async () => {
  const { body } = await server.graphql(`{ logs(${ofLong}, first: 1) { nodes { id } } }`);
  const [{ id }] = body.data.logs.nodes;
  const times = (count: number) =>
    readBy(`{ ${Array.from({ length: count }, (_, n) => `a${n}: log(id: "${id}") { output }`).join(" ")} }`);
  const few = await times(2);
  expect(few.body.errors).toBeUndefined();
  expect(few.read).toContain("output");
  expect((await times(12)).body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
});

test("long logs are read a few megabytes at a time, with others served in between", {
  tags: "slow",
}, async () => {
  const query = `{ logs(${ofLong}, first: 8) { nodes { output } } }`;
  await server.graphql(query);
  let turns = 0;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  const { body, read } = await readBy(query);
  clearImmediate(next);
  expect(body.data.logs.nodes).toHaveLength(8);
  expect(read).toEqual(Array(8).fill("output"));
  expect(turns).toBeGreaterThan(8);
});

test("logs of very many small values are parsed one after another, with others served in between", async () => {
  await using own = await startServer();
  const output = Array(100_000).fill({}); // four of them fit into one piece, and into an answer
  await addLogs(own, 4, () => ({ promptSlug: "small values", output }));
  const turn = vi.spyOn(own.database, "turn");
  const { parse } = JSON;
  vi.spyOn(JSON, "parse").mockImplementation((text, ...more) => {
    const beganMs = performance.now();
    while (text.startsWith("[{}") && performance.now() - beganMs < 15);
    return parse(text, ...more);
  });
  const { body } = await own.graphql("{ logs { nodes { output } } }");
  expect(body.errors).toBeUndefined();
  expect(turn.mock.calls.length).toBeGreaterThanOrEqual(8); // 5 without those between the logs
  vi.restoreAllMocks();
});

test("previews of long logs are read a few megabytes at a time", async () => {
  const previews = `{ logs(${ofLong}) { nodes { inputPreview outputPreview } } }`;
  const { body, read } = await readBy(previews);
  expect(body.data.logs.nodes).toHaveLength(12);
  expect(body.data.logs.nodes).toContainEqual({
    inputPreview: "[11]",
    outputPreview: `${"word ".repeat(40).slice(0, 199)}…`,
  });
  expect(read.filter((column) => column === "output")).toHaveLength(12); // 4 MB each
});

test("long metadata is looked into a megabyte at a time, each member beside keys of its length, and found all the same", async () => {
  const piecesFor = async (...members: string[]) => {
    const { body, statements } = await readBy(
      `{ logs(filter: { slug: "long", metadata: [${members}] }) { nodes { metadata } } }`,
    );
    expect(body.data.logs.nodes).toMatchObject([{ metadata: { at: 5 } }]);
    return statements.filter(({ sql }) => sql.includes("json_each"));
  };
  const at = '{ key: "at", value: 5 }';
  const pieces = await piecesFor(at);
  const ofTwo = await piecesFor('{ key: "kind", value: "many" }', at);
  if (isOnPostgresql) return;
  expect(pieces.length).toBeGreaterThanOrEqual(10);
  expect(ofTwo).toHaveLength(pieces.length); // each of them parses the metadata again
  for (const { sql } of ofTwo) {
    expect(sql.match(/json_each/g)).toHaveLength(1);
    expect(sql).toContain("case octet_length(member.key) when 4 then");
  }
});

test("an export holds a few megabytes of logs at a time", async () => {
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  const sizes: number[] = [];
  let previous = "";
  for await (const logs of logsOfPeriod(context, { from: null, to: null })) {
    sizes.push(logs.reduce((sum, { output }) => sum + JSON.stringify(output).length, 0));
    const first = logs[0]!.startTime.toISOString() + logs[0]!.id;
    expect(first > previous).toBe(true);
    previous = logs.at(-1)!.startTime.toISOString() + logs.at(-1)!.id;
  }
  expect(sizes.filter((size) => size > MEGABYTE)).toHaveLength(12);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_PIECE_BYTES);
});

test("a row of a dataset that is made of a log reads only the parts that go into it", async () => {
  await server.graphql(
    'mutation { createDataset(input: { slug: "d", columns: [{ name: "input", type: TEXT }] }) { dataset { slug } } }',
  );
  const { body } = await server.graphql(`{ logs(${ofLong}, first: 1) { nodes { id } } }`);
  const stop = await captureStatements(server);
  const added = await server.graphql(
    `mutation { addLogToDataset(slug: "d", input: { logId: "${body.data.logs.nodes[0].id}" }) { datasetRow { values } } }`,
  );
  const read = columnsRead(stop());
  expect(added.body.data.addLogToDataset.datasetRow.values).toEqual({ input: [expect.any(Number)] });
  expect(read.toSorted()).toEqual(["ideal_output", "input", "metadata"]);
});

test.skipIf(isOnPostgresql)("on SQLite: what is long stands behind all other columns", async () => {
  const connection = server.database.orm.em.getConnection();
  for (const table of ["logs", "traces"]) {
    const columns = await connection.execute<{ name: string }[]>(
      `select name from pragma_table_info('${table}')`,
    );
    const long = columns.map(({ name }) => payload[table]!.includes(name));
    expect(long.indexOf(true)).toBeGreaterThan(long.lastIndexOf(false));
  }
});
