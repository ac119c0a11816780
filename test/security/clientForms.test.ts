import { afterAll, expect, test, vi } from "vitest";
import { readRowForms } from "../../src/datasets/clientForms.inputs.ts";
import { readTraceForms } from "../../src/logs/clientForms.inputs.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

test("more logs than a trace may have are refused before any of them is read", async () => {
  const parse = vi.spyOn(JSON, "parse");
  const readLogs = async (count: number) => {
    parse.mockClear();
    const logs = Array.from({ length: count }, (_, n) => ({ id: `${n}`, type: "span", metadata: '{"a":1}' }));
    const { status } = await server.post("/monitor/trace", { name: "long", logs });
    return { status, read: parse.mock.calls.filter(([text]) => text === '{"a":1}').length };
  };
  expect(await readLogs(10_001)).toEqual({ status: 400, read: 0 });
  expect(await readLogs(3)).toMatchObject({ status: 200, read: 3 });
  parse.mockRestore();
});

test("the forms of clients are read without a copy of the objects that have them", () => {
  const log = {
    ...{ id: "1", startTime: "1700000000000", metadata: '{"a":1}', cost: 0 },
    ...{ prompt: { promptValues: 1 }, variables: { variableValues: 2 }, evaluators: { evaluatorValues: 3 } },
  };
  const body = { metadata: "", evaluationConfig: { sample_rate: 0.5 }, logs: [log] };
  expect(readTraceForms(body, "nodejs").body).toBe(body);
  expect(body.logs[0]).toBe(log);
  expect(body).toEqual({
    ...{ metadata: null, evaluationConfig: { sampleRate: 0.5 } },
    logs: [
      {
        ...{ id: "1", startTime: 1_700_000_000_000, metadata: { a: 1 }, cost: null },
        ...{ prompt: 1, variables: 2, evaluators: 3 },
      },
    ],
  });
  const row = { metadata: '{"a":1}' };
  expect(readRowForms(row).body).toBe(row);
  expect(row).toEqual({ metadata: { a: 1 } });
});
