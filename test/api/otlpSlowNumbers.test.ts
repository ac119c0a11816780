import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { type Server, startServer } from "../support/server.ts";

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

/** V8 takes 6 microseconds to write one of them. */
const list = {
  arrayValue: { values: Array.from({ length: 4_000 }, () => ({ doubleValue: 4.8351886271828765e268 })) },
};

const countNumbers = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? Object.values(value).reduce((sum: number, inner) => sum + countNumbers(inner), 0)
    : Number(typeof value === "number");

/** The most numbers that are written at once while something is done. */
async function numbersAtOnce(work: () => Promise<void>): Promise<number> {
  const stringify = vi.spyOn(JSON, "stringify");
  try {
    await work();
    return Math.max(...stringify.mock.calls.map(([value]) => countNumbers(value)));
  } finally {
    stringify.mockRestore();
  }
}

const store = async (span: object) =>
  expect(await send(server, encodeSpans([span]))).toMatchObject({ status: 200 });

test("a dry run and a span write no long list of numbers in one turn, whatever it is read as", async () => {
  const attributes = [
    { key: "langsmith.metadata.a", value: list },
    {
      key: "traceloop.prompt.template_variables",
      value: { kvlistValue: { values: [{ key: "v", value: list }] } },
    },
    { key: "a text that its metadata may be", value: { stringValue: "x".repeat(200) } },
  ];
  const span = newSpan({ attributes });
  const most = await numbersAtOnce(async () => {
    const { answer } = await send(server, encodeSpans([span]), { path: "/v1/traces?dryRun=1" });
    expect(answer.spans[0].log.metadata.a).toHaveLength(4_000);
    expect(answer.spans[0].log.variables).toEqual([{ label: "v", value: null }]);
    await store(span);
  });
  expect(most).toBeLessThan(2_000);
});

test("what a root says of a stored trace is not written in one turn", async () => {
  const root = newSpan({ attributes: [{ key: "langfuse.trace.name", value: { stringValue: "answer" } }] });
  await store(root);
  const attributes = [{ key: "langfuse.trace.input", value: list }];
  expect(await numbersAtOnce(() => store({ ...root, attributes }))).toBeLessThan(2_000);
  const traces = await server.run("{ traces { nodes { input } } }");
  expect(traces).toContainEqual({ input: Array(4_000).fill(4.8351886271828765e268) });
});

test("what a span nests too deep becomes a text, which is not written in one turn", async () => {
  let deep: object = list;
  for (let level = 0; level < 98; level++) deep = { arrayValue: { values: [deep] } };
  const span = newSpan({ attributes: [{ key: "deep", value: deep }] });
  expect(await numbersAtOnce(() => store(span))).toBeLessThan(2_000);
  const logs = await server.run("{ logs { nodes { attributes } } }");
  expect(JSON.stringify(logs)).toContain(`"[4.8351886271828765e+268,4.8351886271828765e+268,`);
});
