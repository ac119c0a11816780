import { afterAll, expect, test } from "vitest";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { startServer } from "../support/server.ts";
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

test("one statement changes 4 MB of stored traces, as SQLite writes all of a row for a change of its time", async () => {
  const metadata = JSON.stringify({ a: "x".repeat(1_500_000) });
  const roots = Array.from({ length: 6 }, () =>
    newRoot([textAttribute("langfuse.trace.metadata", metadata)]),
  );
  await store(roots);
  const stop = await captureStatements(server);
  await store(roots.map((root) => below(root, { endTimeUnixNano: "1763800009000000000" })));
  expect(stop().filter(({ sql }) => /^update [`"]traces[`"]/i.test(sql))).toHaveLength(3);
});

test("one statement removes 4 MB of logs whose spans are sent again", async () => {
  const roots = Array.from({ length: 6 }, () =>
    newRoot([textAttribute("input.value", "x".repeat(1_500_000))]),
  );
  await store(roots);
  const stop = await captureStatements(server);
  await store(roots.map(({ traceId, spanId }) => newSpan({ traceId, spanId })));
  expect(stop().filter(({ sql }) => /^delete from [`"]logs[`"]/i.test(sql))).toHaveLength(3);
});
