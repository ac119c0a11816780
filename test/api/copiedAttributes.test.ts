import { afterAll, expect, test } from "vitest";
import { logsOfPeriod } from "../../src/logs/export.resolvers.ts";
import { remapSpans } from "../../src/logs/remap.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { encodeSpans, newSpan, send } from "../support/otlp.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
const always = { from: new Date(0), to: new Date(Date.now() + 1_000) };

const MARK = "a word that is in the content alone";
const words = `${MARK} ${"and many more ".repeat(20)}é "quoted" \\ 🦓`;
const messages = [{ role: "user", parts: [{ type: "text", content: words }], index: 12 }];

interface Attribute {
  key: string;
  value: object;
}
const text = (key: string, stringValue: string): Attribute => ({ key, value: { stringValue } });
const model = text("gen_ai.request.model", "gpt-5");
/** The list that `messages` is, as values of OpenTelemetry. */
const listOfValues = {
  arrayValue: {
    values: [
      {
        kvlistValue: {
          values: [
            text("role", "user"),
            {
              key: "parts",
              value: {
                arrayValue: {
                  values: [{ kvlistValue: { values: [text("type", "text"), text("content", words)] } }],
                },
              },
            },
            { key: "index", value: { intValue: 12 } },
          ],
        },
      },
    ],
  },
};

async function store(attributes: Attribute[]) {
  const span = newSpan({ attributes });
  expect((await send(server, encodeSpans([span]))).status).toBe(200);
  const externalId = span.spanId.toString("hex");
  const row = await server.database.read
    .selectFrom("Log")
    .select(["id", "attributes"])
    .where("externalId", "=", externalId)
    .executeTakeFirstOrThrow();
  const query = `query ($id: ID!) { log(id: $id) { input output attributes } }`;
  const { body } = await server.graphql(query, { id: row.id });
  expect(body.errors).toBeUndefined();
  return { id: row.id, stored: JSON.stringify(row.attributes), ...body.data.log };
}

const json = JSON.stringify(messages);
const ofSpan = (attributes: Record<string, unknown>) => ({ ...attributes, "gen_ai.request.model": "gpt-5" });

const copied: [form: string, Attribute[], Record<string, unknown>][] = [
  ["its JSON text", [text("gen_ai.input.messages", json)], { "gen_ai.input.messages": json }],
  ["a text", [text("input.value", words)], { "input.value": words }],
  [
    "a list of values",
    [{ key: "gen_ai.input.messages", value: listOfValues }],
    { "gen_ai.input.messages": messages },
  ],
  [
    "a text after another one",
    [text("other", "o".repeat(200)), text("input.value", words)],
    { other: "o".repeat(200), "input.value": words },
  ],
  [
    "the JSON text of a text",
    [text("traceloop.entity.input", JSON.stringify(words))],
    { "traceloop.entity.input": JSON.stringify(words) },
  ],
  [
    "metadata beside the same input",
    [text("gen_ai.input.messages", json), text("basalt.metadata", JSON.stringify({ words }))],
    { "gen_ai.input.messages": json, "basalt.metadata": JSON.stringify({ words }) },
  ],
  [
    "the same text for input and output",
    [text("input.value", words), text("output.value", words)],
    { "input.value": words, "output.value": words },
  ],
];

test.each(copied)(
  "the content of a span is stored once, and its attributes are as they came: %s",
  async (_, attributes, sent) => {
    const { stored, attributes: read, input } = await store([...attributes, model]);
    expect(read.span).toEqual(ofSpan(sent));
    expect(Object.keys(read.span)).toEqual([...Object.keys(sent), "gen_ai.request.model"]);
    expect(read).not.toHaveProperty("copies");
    expect(JSON.stringify(input)).toContain(MARK);
    expect(stored).not.toContain(MARK);
  },
);

const kept: typeof copied = [
  [
    "JSON with spaces",
    [text("gen_ai.input.messages", json.replace(":", ": "))],
    { "gen_ai.input.messages": json.replace(":", ": ") },
  ],
  [
    "a number that JavaScript would change",
    [text("gen_ai.input.messages", json.replace("12", "1234567890123456789"))],
    { "gen_ai.input.messages": json.replace("12", "1234567890123456789") },
  ],
  ["less than 100 characters", [text("input.value", MARK)], { "input.value": MARK }],
  [
    "another list before it",
    [
      { key: "other", value: { arrayValue: { values: [{ stringValue: words }] } } },
      text("gen_ai.input.messages", json),
    ],
    { other: [words], "gen_ai.input.messages": json },
  ],
  [
    "a list of the same members in another order before it",
    [
      {
        key: "other",
        value: {
          arrayValue: {
            values: [
              {
                kvlistValue: {
                  values: [
                    { key: "index", value: { intValue: 12 } },
                    ...listOfValues.arrayValue.values[0]!.kvlistValue.values.slice(0, 2),
                  ],
                },
              },
            ],
          },
        },
      } as Attribute,
      text("gen_ai.input.messages", json),
    ],
    {
      other: [{ index: 12, role: "user", parts: messages[0]!.parts }],
      "gen_ai.input.messages": json,
    },
  ],
  [
    "an empty one beside it",
    [text("input.value", words), text("null", "")],
    { "input.value": words, null: "" },
  ],
];

test.each(kept)(
  "attributes are as they came also where the content is not theirs: %s",
  async (_, attributes, sent) => {
    const { attributes: read } = await store([...attributes, model]);
    expect(JSON.stringify(read.span)).toBe(JSON.stringify(ofSpan(sent))); // in the order of their members, too
  },
);

test("content of 100 characters is stored once, and shorter content with each", async () => {
  const storedOf = async (length: number) => (await store([text("input.value", "x".repeat(length))])).stored;
  expect(await storedOf(100)).not.toContain("xx");
  expect(await storedOf(99)).toContain("xx");
  const jsonOf = async (length: number) =>
    (await store([text("gen_ai.input.messages", JSON.stringify(["x".repeat(length - 4)]))])).stored;
  expect(await jsonOf(100)).not.toContain("xx");
  expect(await jsonOf(99)).toContain("xx");
});

test("a trace has the content of its root, stored once, also when the root is sent again with another", async () => {
  const sent = (content: string) => [
    text("input.value", `${content} in`),
    text("output.value", `${content} out`),
    text("basalt.metadata", JSON.stringify({ content })),
  ];
  const span = newSpan({ attributes: sent(words) });
  const traceId = span.traceId.toString("hex");
  const rowOf = () =>
    server.database.read
      .selectFrom("Trace")
      .select(["id", "input", "output", "metadata"])
      .where("externalId", "=", traceId)
      .executeTakeFirstOrThrow();
  const readTrace = async (id: string) => {
    const { body } = await server.graphql(`query ($id: ID!) { trace(id: $id) { input output metadata } }`, {
      id,
    });
    return body.data.trace;
  };
  expect((await send(server, encodeSpans([span]))).status).toBe(200);
  const { id, ...stored } = await rowOf();
  expect(stored).toEqual({ input: null, output: null, metadata: null });
  const ofWords = { input: `${words} in`, output: `${words} out`, metadata: { content: words } };
  expect(await readTrace(id)).toEqual(ofWords);

  // As releases before stored it: a copy of what the root had.
  const copied = JSON.stringify({ content: words });
  await server.database.write
    .updateTable("Trace")
    .set({ input: JSON.stringify("old"), output: JSON.stringify("old"), metadata: copied } as never)
    .where("id", "=", id)
    .execute();
  expect((await send(server, encodeSpans([{ ...span, attributes: sent("other") }]))).status).toBe(200);
  expect(await readTrace(id)).toEqual({
    ...{ input: "other in", output: "other out" },
    metadata: { content: "other" },
  });
});

test("a logged call is stored once, and its trace has its input, its output and its metadata", async () => {
  const call = { input: "in", output: "out", metadata: { words } };
  const { body } = await server.post("/monitor/log", { slug: "a", ...call });
  const { id } = body.trace as { id: string };
  const columns = ["input", "output", "metadata"] as const;
  const { read } = server.database;
  const stored = read.selectFrom("Trace").select(columns).where("id", "=", id);
  expect(await stored.executeTakeFirstOrThrow()).toEqual({ input: null, output: null, metadata: null });
  const { body: found } = await server.graphql(
    `query ($id: ID!) { trace(id: $id) { input output metadata } }`,
    { id },
  );
  expect(found.data.trace).toEqual(call);
  const { body: logged } = await server.graphql(
    `mutation ($input: LogPromptInput!) { logPrompt(input: $input) { trace { input output metadata } } }`,
    { input: { slug: "a", ...call } },
  );
  expect(logged.data.logPrompt.trace).toEqual(call);
});

test("what has no content keeps its attributes, and who asks for none is answered null", async () => {
  expect((await store([model])).attributes.span).toEqual(ofSpan({}));
  const { body } = await server.post("/monitor/log", { slug: "a", input: words, output: words });
  const { body: found } = await server.graphql(`{ logs(first: 1) { nodes { id attributes } } }`);
  expect(body).not.toHaveProperty("error");
  expect(found.data.logs.nodes).toEqual([{ id: expect.any(String), attributes: null }]);
});

test("an export has the attributes as they came, and mapping them again changes nothing", async () => {
  const { id } = await store([text("gen_ai.input.messages", json), model]);
  const exported = [];
  for await (const logs of logsOfPeriod(context, { from: null, to: null })) exported.push(...logs);
  const log = exported.find((each) => each.id === id);
  expect(log?.attributes).toEqual({
    span: ofSpan({ "gen_ai.input.messages": json }),
    scope: { name: "test" },
  });
  const { examined, changed } = await remapSpans(context, { ...always, dryRun: true });
  expect(examined).toBeGreaterThan(0);
  expect(changed).toBe(0);
});
