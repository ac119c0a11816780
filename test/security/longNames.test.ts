import { LRUCache } from "lru-cache";
import { afterAll, expect, test, vi } from "vitest";
import { createJsonBytes, jsonBytesOf } from "../../src/limits/jsonBytes.ts";
import { createJsonTexts } from "../../src/logs/otlp/jsonTexts.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { encodeSpans, JSON_TYPE, newSpan, send, TYPES } from "../support/otlp.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

/** V8 hashes longer texts by their length alone. */
const MAX_HASHED_CHARACTERS = 16_383;
const LONG = "k".repeat(MAX_HASHED_CHARACTERS + 1);
const logs = () => server.run("{ logs(first: 100) { nodes { id } } }");

test("a body with a name of a member that V8 does not hash is refused by either API, and nothing is stored", async () => {
  const before = await logs();
  const named = { [LONG]: 1 };
  const rest = await server.post("/monitor/log", { slug: "named", output: "x", metadata: { nested: named } });
  expect(rest).toMatchObject({ status: 400, body: { code: "BAD_INPUT" } });
  expect(rest.body.error).toContain("a member whose name is longer than 16000 characters");
  const mutation = "mutation ($input: LogPromptInput!) { logPrompt(input: $input) { log { id } } }";
  const graphql = await server.graphql(mutation, { input: { slug: "named", output: "x" }, unused: named });
  expect(graphql.body.errors[0]).toMatchObject({
    message: rest.body.error,
    extensions: { code: "BAD_INPUT" },
  });
  expect(await logs()).toEqual(before);
  const short = { ["k".repeat(16_000)]: "a value of any length".repeat(1_000) };
  const accepted = await server.post("/monitor/log", { slug: "named", output: "x", metadata: short });
  expect(accepted.status).toBe(200);
});

test("a label of a variable that V8 does not hash is refused where a prompt is rendered, stored or logged", async () => {
  await addPrompt(server, { slug: "labelled", versions: [{ version: "1" }], tags: { production: "1" } });
  const labelled = { slug: "labelled", variables: [{ label: LONG, value: "x" }] };
  const render =
    "query ($slug: String!, $variables: [PromptVariableValue!]) { renderPrompt(slug: $slug, variables: $variables) { text } }";
  const add =
    "mutation ($slug: String!, $input: PromptVersionInput!) { createPromptVersion(slug: $slug, input: $input) { warnings { message } } }";
  const version = { version: "2", text: "x", variables: [{ label: LONG }] };
  const rendered = await server.run(render, labelled);
  const added = await server.run(add, { slug: "labelled", input: version });
  const logged = await server.post("/monitor/log", { ...labelled, output: "x" });
  expect([rendered.error?.code, added.error?.code, logged.body.code]).toEqual(Array(3).fill("BAD_INPUT"));
  const short = [{ label: "k".repeat(16_000), value: "x" }];
  expect(await server.run(render, { ...labelled, variables: short })).not.toHaveProperty("error");
});

test("a column that V8 does not hash is looked for by no change of a dataset", async () => {
  await addDataset(server, { slug: "columns", columns: [{ name: "a", type: "text" }] });
  const update =
    'mutation ($input: UpdateDatasetInput!) { updateDataset(slug: "columns", input: $input) { dataset { slug } } }';
  const changes = (name: string) => [{ removeColumns: [name] }, { renameColumns: [{ from: name, to: "b" }] }];
  const answers = async (name: string) =>
    Promise.all(changes(name).map((input) => server.run(update, { input })));
  const unknown = await answers("k".repeat(16_000));
  for (const { error } of unknown) expect(error.message).not.toContain("at most 16000 characters");
  const long = await answers(LONG);
  for (const { error } of long) {
    expect(error.code).toBe("BAD_INPUT");
    expect(error.message).toContain("16000 characters");
  }
});

test("a variable of a span whose label V8 does not hash stays in its attribute alone, and none is looked for by such a label", async () => {
  const variable = (label: string) => ({
    kvlistValue: {
      values: [
        { key: "label", value: { stringValue: label } },
        { key: "value", value: { stringValue: "x" } },
      ],
    },
  });
  const key = "llm.prompt_template.variables";
  const value = { arrayValue: { values: [variable(LONG), variable("short")] } };
  const { status } = await send(
    server,
    encodeSpans([newSpan({ name: "labels", attributes: [{ key, value }] })]),
  );
  expect(status).toBe(200);
  const all = await server.run("{ logs(first: 100) { nodes { id name variables { label } attributes } } }");
  const log = all.find(({ name }: { name: string }) => name === "labels");
  expect(log.variables).toEqual([{ label: "short" }]);
  expect(JSON.stringify(log.attributes)).toContain(LONG);
  await addDataset(server, { slug: "labels", columns: [{ name: "a", type: "text" }] });
  const add =
    'mutation ($input: AddLogToDatasetInput!) { addLogToDataset(slug: "labels", input: $input) { datasetRow { id } } }';
  const columns = [{ column: "a", from: "VARIABLE", variable: LONG }];
  const added = await server.run(add, { input: { logId: log.id, columns } });
  expect(added.error.code).toBe("BAD_INPUT");
  expect(added.error.message).toContain("16000 characters");
});

test("caches remember documents and requests by short keys", async () => {
  await addPrompt(server, { slug: "remembered", versions: [{ version: "1" }], tags: { production: "1" } });
  const set = vi.spyOn(LRUCache.prototype, "set");
  const document = `{ prompts { nodes { slug } } datasets { nodes { slug } } } # ${LONG}`;
  expect(await server.graphql(document)).not.toHaveProperty("body.errors");
  const described = `{ describePrompt(slug: "remembered") { slug } } # ${LONG}`;
  expect(await server.graphql(described)).not.toHaveProperty("body.errors");
  const keys = set.mock.calls.map(([key]) => String(key));
  set.mockRestore();
  expect(keys.length).toBeGreaterThanOrEqual(3);
  // Statements that a connection to SQLite keeps are texts of Gabbro.
  for (const key of keys.filter((text) => !text.startsWith("select "))) expect(key.length).toBeLessThan(200);
});

test.each(TYPES)(
  "a span of %s with such a key is rejected, at any depth, and others beside it are stored",
  async (type) => {
    const before = (await logs()).length;
    const inner = { key: LONG, value: { stringValue: "x" } };
    const outer = { key: "outer", value: { kvlistValue: { values: [inner] } } };
    const spans = [newSpan({ attributes: [inner] }), newSpan({ attributes: [outer] }), newSpan()];
    const { status, answer } = await send(server, encodeSpans(spans, type), { type });
    expect(status).toBe(200);
    const { rejected, rejectedSpans = rejected } = answer.partialSuccess;
    expect(Number(rejectedSpans)).toBe(2);
    expect(answer.partialSuccess.errorMessage).toContain("has a name or a key of more than 16000 characters");
    expect(await logs()).toHaveLength(before + 1);
  },
);

test("a span of JSON with such a name that is none of OpenTelemetry is rejected", async () => {
  const request = JSON.parse(encodeSpans([newSpan()], JSON_TYPE).toString());
  request.resourceSpans[0].scopeSpans[0].spans[0].attributes[0][LONG] = 1;
  const { answer } = await send(server, Buffer.from(JSON.stringify(request)), { type: JSON_TYPE });
  expect(Number(answer.partialSuccess.rejectedSpans)).toBe(1);
  expect(answer.partialSuccess.errorMessage).toContain("has a name or a key of more than 16000 characters");
});

test("a JSON text of a span with such a name stays a text", async () => {
  const text = JSON.stringify({ [LONG]: 1 });
  const value = { stringValue: text };
  const span = newSpan({ name: "a text", attributes: [{ key: "input.value", value }] });
  expect((await send(server, encodeSpans([span]))).status).toBe(200);
  const stored = await server.run("{ logs(first: 100) { nodes { name input } } }");
  expect(stored.find(({ name }: { name: string }) => name === "a text")).toEqual({
    name: "a text",
    input: text,
  });
});

test("what is remembered of long texts is no key that V8 does not hash, and not mistaken for another", () => {
  const keys = vi.spyOn(Map.prototype, "set");
  const texts = [1, 2, 3].map((n) => `${LONG}${n}`);
  const bytesOf = createJsonBytes();
  const wide = texts.map((text) => `${text}${"\u00e9".repeat(text.charCodeAt(LONG.length) - 48)}`);
  expect(wide.map((text) => bytesOf(text))).toEqual(wide.map((text) => jsonBytesOf(text)));
  const jsonTexts = createJsonTexts(new Set());
  const lists = texts.map((text) => JSON.stringify([text]));
  for (const list of [...lists, ...lists]) expect(jsonTexts.parse(list)).toEqual(JSON.parse(list));
  const lengths = keys.mock.calls.map(([key]) => (typeof key === "string" ? key.length : 0));
  keys.mockRestore();
  expect(lengths.length).toBeGreaterThan(5);
  expect(Math.max(...lengths)).toBeLessThanOrEqual(MAX_HASHED_CHARACTERS);
});
