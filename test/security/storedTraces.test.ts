import { afterAll, expect, test } from "vitest";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const textAttribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });
const userNamed = (id: string) => [
  textAttribute("user.id", id),
  textAttribute("basalt.user.name", `name ${id}`),
];
const store = async (spans: object[]) =>
  expect(await send(server, encodeSpans(spans))).toMatchObject({ status: 200, answer: {} });

type Root = ReturnType<typeof newSpan> & { traceId: Buffer; spanId: Buffer };
const newRoot = (attributes: object[]) => newSpan({ attributes }) as Root;
const below = ({ traceId, spanId }: Root, more: object) =>
  newSpan({ traceId, parentSpanId: spanId, ...more });

const userOf = async ({ traceId }: Root) =>
  (
    await server.run("query($id: ID!) { trace(id: $id) { user { id name } } }", {
      id: traceId.toString("hex"),
    })
  ).user;

test("spans for stored traces fill in a user that no span has named, and no statement reads the names of users", async () => {
  const [named, unnamed] = [newRoot(userNamed("first")), newRoot([])];
  await store([named, unnamed]);
  const stop = await captureStatements(server);
  await store([named, unnamed].map((root) => below(root, { attributes: userNamed("second") })));
  const reads = stop().filter(({ sql }) => /^select.* from [`"]traces[`"]/is.test(sql));
  expect(reads.length).toBeGreaterThan(0);
  for (const { sql } of reads)
    expect(sql.replaceAll(/octet_length\([^)]*\)/g, "")).not.toMatch(/\.[`"]user[`"]|, [`"]user/);
  expect(await userOf(named)).toEqual({ id: "first", name: "name first" });
  expect(await userOf(unnamed)).toEqual({ id: "second", name: "name second" });
});

/** How many transactions commit while `work` runs. */
async function commitsOf(work: () => Promise<unknown>): Promise<number> {
  const commits = () => Number(server.database.generation.heard().split(" ")[0]);
  const before = commits();
  await work();
  return commits() - before;
}

const expected = isOnPostgresql ? 1 : 3;

test("one statement changes 4 MB of stored traces, and on SQLite, which writes whole rows, one transaction", async () => {
  const metadata = JSON.stringify({ a: "x".repeat(1_500_000) });
  const roots = Array.from({ length: 6 }, () =>
    newRoot([textAttribute("langfuse.trace.metadata", metadata)]),
  );
  await store(roots);
  const stop = await captureStatements(server);
  const later = roots.map((root) => below(root, { endTimeUnixNano: "1763800009000000000" }));
  expect(await commitsOf(() => store(later))).toBe(expected);
  expect(stop().filter(({ sql }) => /^update [`"]traces[`"]/i.test(sql))).toHaveLength(3);
});

test("spans of a trace that is larger than 4 MB share a transaction, each of which writes the trace again", async () => {
  const metadata = JSON.stringify({ a: "x".repeat(5_000_000) });
  const root = newRoot([textAttribute("langfuse.trace.metadata", metadata)]);
  const spans = Array.from({ length: 20 }, () => below(root, {}));
  await store([root]);
  await store(spans);
  expect(await commitsOf(() => store(spans))).toBe(1);
});

test("one statement removes 4 MB of logs whose spans are sent again, and on SQLite one transaction", async () => {
  const roots = Array.from({ length: 6 }, () =>
    newRoot([textAttribute("input.value", "x".repeat(1_500_000))]),
  );
  await store(roots);
  const stop = await captureStatements(server);
  const again = roots.map(({ traceId, spanId }) => newSpan({ traceId, spanId }));
  expect(await commitsOf(() => store(again))).toBe(expected);
  expect(stop().filter(({ sql }) => /^delete from [`"]logs[`"]/i.test(sql))).toHaveLength(3);
});

test("on SQLite one transaction recounts 4 MB of stored logs, and further ones the rest", async () => {
  const usage = (tokens: number) => [
    textAttribute("gen_ai.operation.name", "chat"),
    { key: "gen_ai.usage.input_tokens", value: { intValue: tokens } },
  ];
  const input = textAttribute("input.value", "x".repeat(1_500_000));
  const root = newRoot([...usage(7), input]);
  const chain = [root];
  for (let n = 0; n < 5; n++)
    chain.push(below(chain.at(-1)!, { traceId: root.traceId, attributes: [...usage(7), input] }) as Root);
  await store(chain);
  const leaf = below(chain.at(-1)!, { traceId: root.traceId, attributes: usage(8) });
  const stop = await captureStatements(server);
  const commits = await commitsOf(() => store([leaf]));
  const updates = stop().filter(({ sql }) => /^update [`"]logs[`"]/i.test(sql)).length;
  expect(updates).toBeGreaterThan(2);
  expect(commits).toBe(isOnPostgresql ? 1 : Math.ceil(updates / 2));
});

test("spans of several traces that alternate are divided by their traces", async () => {
  const metadata = textAttribute("langfuse.trace.metadata", JSON.stringify({ a: "x".repeat(3_000_000) }));
  const roots = [newRoot([metadata]), newRoot([metadata])];
  await store(roots);
  const alternating = Array.from({ length: 10 }, (_, n) => below(roots[n % 2]!, {}));
  expect(await commitsOf(() => store(alternating))).toBe(isOnPostgresql ? 1 : 2);
});
