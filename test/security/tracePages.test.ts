import { randomBytes } from "node:crypto";
import { afterAll, expect, test, vi } from "vitest";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

async function addTrace(count: number): Promise<string> {
  const logs = Array.from({ length: count }, (_, n) => ({ id: `${n}`, type: "span" }));
  const { body } = await server.post("/monitor/trace", { name: "long", logs });
  return body.trace.id;
}

/** Asks for a page of the trace of each of a hundred logs, again and again. */
const pages = (times: number, args: string) => {
  const fields = Array.from({ length: times }, (_, n) => `a${n}: logs(${args}) { __typename }`);
  return `{ logs(first: 100) { nodes { trace { ${fields.join(" ")} } } } }`;
};

test("a trace is read once for all pages of it that an answer has, however many", async () => {
  await addTrace(100);
  const stop = await captureStatements(server);
  const { body } = await server.graphql(pages(12, "first: 1"));
  expect(body.errors).toBeUndefined();
  const ofTrees = stop().filter(({ sql }) => sql.includes("remote_parent") && sql.includes("limit"));
  expect(ofTrees).toHaveLength(1);
});

test("traces that are not listed are passed over a hundred at a time", async () => {
  await addTrace(1);
  const sdk = { key: "basalt.sdk", value: { boolValue: true } };
  const spans = Array.from({ length: 250 }, () =>
    newSpan({ traceId: randomBytes(16), attributes: [sdk], startTimeUnixNano: "4102444800000000000" }),
  );
  expect(await send(server, encodeSpans(spans))).toMatchObject({ status: 200 });
  const stop = await captureStatements(server);
  const { body } = await server.graphql("{ traces(first: 1) { nodes { name } } }");
  expect(body.data.traces.nodes).toEqual([{ name: "long" }]);
  expect(stop().filter(({ sql }) => sql.includes('as "firstType"'))).toHaveLength(4);
});

test("pages beyond the size of an answer are refused before their logs are read", async () => {
  await addTrace(2_000);
  const stop = await captureStatements(server);
  const { body } = await server.graphql(pages(2, "first: 2000"));
  expect(body.errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX");
  expect(stop().filter(({ sql }) => sql.includes('as "latencyMs"'))).toEqual([]);
});

test("pages that are being read count towards an answer, beside their entries", async () => {
  await addTrace(100);
  const inner = "nodes { trace { logs(first: 1) { __typename } } }";
  const read = async (first: number) => {
    const fields = Array.from({ length: 28 }, (_, n) => `a${n}: logs(first: ${first}) { ${inner} }`);
    return (await server.graphql(`{ logs(first: 100) { nodes { trace { ${fields.join(" ")} } } } }`)).body;
  };
  expect((await read(1)).errors).toBeUndefined(); // 5,600 pages
  expect((await read(3)).errors[0].extensions.code).toBe("QUERY_TOO_COMPLEX"); // 11,200
});

test("others are served while pages look for types that a long trace does not have", async () => {
  await addTrace(9_000);
  const turn = vi.spyOn(server.database, "turn");
  const turnsOf = async (args: string) => {
    turn.mockClear();
    expect((await server.graphql(pages(1, args))).body.errors).toBeUndefined();
    return turn.mock.calls.length;
  };
  const without = await turnsOf("first: 1");
  expect(await turnsOf("first: 1, types: [TOOL]")).toBeGreaterThan(without + 50);
  expect(await turnsOf("first: 1, status: ERROR")).toBeGreaterThan(without + 50);
  turn.mockRestore();
});

test.each(["first: 1", "first: 1, types: [TOOL]"])(
  "others are served between many pages of a trace: %s",
  async (args) => {
    await addTrace(100);
    const turn = vi.spyOn(server.database, "turn");
    expect((await server.graphql(pages(12, args))).body.errors).toBeUndefined();
    const turns = turn.mock.calls.length;
    turn.mockRestore();
    expect(turns).toBeGreaterThan(20); // of 1,200 pages
  },
);

test("whether a trace is complete is looked for once, however many fields ask for it", async () => {
  await addTrace(500);
  const includes = vi.spyOn(Object.getPrototypeOf(Uint8Array.prototype), "includes");
  const fields = Array.from({ length: 20 }, (_, n) => `a${n}: complete`).join(" ");
  const { body } = await server.graphql(`{ logs(first: 100) { nodes { trace { ${fields} } } } }`);
  const looked = includes.mock.contexts.filter((array) => (array as Uint8Array).length >= 500);
  includes.mockRestore();
  expect(body.data.logs.nodes[99].trace).toMatchObject({ a0: true, a19: true });
  expect(looked.length).toBeLessThanOrEqual(1);
});

test("others are served between five hundred look-ups of a request", async () => {
  const id = await addTrace(2_000);
  const turn = vi.spyOn(server.database, "turn");
  const turnsOf = async (field: string) => {
    turn.mockClear();
    const { body } = await server.graphql(
      `{ trace(id: "${id}") { logs(first: 2000) { nodes { ${field} } } } }`,
    );
    expect(body.errors).toBeUndefined();
    return turn.mock.calls.length;
  };
  await turnsOf("id"); // reads the tree
  expect(await turnsOf("statusMessage")).toBeGreaterThanOrEqual((await turnsOf("name")) + 3);
  turn.mockRestore();
});
