import { afterAll, expect, test, vi } from "vitest";
import { remapSpans } from "../../src/logs/remap.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addToken } from "../support/data.ts";
import { encodeSpans, JSON_TYPE, newSpan, PROTOBUF, send, TYPES } from "../support/otlp.ts";
import { connectGrpc } from "../support/otlpGrpc.ts";
import { encode } from "../support/otlpProto.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

type Span = ReturnType<typeof newSpan>;
const TIME = 1_763_800_000_000_000_000n;

/** An AnyValue of texts and objects of texts. */
const anyValue = (value: unknown): object =>
  typeof value === "string"
    ? { stringValue: value }
    : {
        kvlistValue: { values: Object.entries(value as object).map(([key, each]) => pair(key, each)) },
      };
const pair = (key: string, value: unknown) => ({ key, value: anyValue(value) });

/** A record of a span, some nanoseconds after its start. */
const record = ({ traceId, spanId }: Span, eventName: string, body: unknown, after = 0) => ({
  ...{ traceId, spanId, eventName, body: anyValue(body) },
  timeUnixNano: `${TIME + BigInt(after)}`,
  attributes: [pair("gen_ai.system", "openai")],
});

function encodeRecords(records: object[], type = PROTOBUF): Buffer {
  const request = (logRecords: object[]) => ({
    resourceLogs: [
      {
        resource: { attributes: [pair("service.name", "quiz")] },
        scopeLogs: [{ scope: { name: "openai" }, logRecords }],
      },
    ],
  });
  const hex = (each: object) =>
    Object.fromEntries(
      Object.entries(each).map(([name, value]) => [
        name,
        Buffer.isBuffer(value) ? value.toString("hex") : value,
      ]),
    );
  return type === PROTOBUF
    ? encode("LogsRequest", request(records))
    : Buffer.from(JSON.stringify(request(records.map(hex))));
}

const sendRecords = (records: object[], type = PROTOBUF) =>
  send(server, encodeRecords(records, type), { path: "/v1/logs", type });

const LOGS = `query($id: ID!) { trace(id: $id) { name logCount generationCount logs(first: 100) { nodes {
  name type depth missingParent input output attributes startTime endTime costSource externalId } } } }`;

async function read({ traceId }: Span, token = server.token) {
  const { body } = await server.graphql(LOGS, { id: traceId.toString("hex") }, { token });
  return body.data?.trace;
}

const nodesOf = async (span: Span): Promise<Record<string, unknown>[]> => (await read(span)).logs.nodes;

const MESSAGES = [
  ["gen_ai.system.message", { content: "Be brief." }, "input"],
  ["gen_ai.user.message", { content: "Capital of Kenya?" }, "input"],
  ["gen_ai.assistant.message", { content: "Let me look." }, "output"],
  ["gen_ai.tool.message", { content: "Nairobi", id: "call-1" }, "input"],
  ["gen_ai.choice", { finish_reason: "stop", message: { content: "Nairobi." } }, "output"],
] as const;

test.each(TYPES)(
  "messages as %s become events below their span, in the order of their times",
  async (type) => {
    const span = newSpan();
    await send(server, encodeSpans([span]));
    const records = MESSAGES.map(([name, body], index) => record(span, name, body, index * 1_000));
    expect(await sendRecords(records.toReversed(), type)).toMatchObject({ status: 200, answer: {} });
    const [call, ...events] = await nodesOf(span);
    expect(call).toMatchObject({ name: "chat", type: "GENERATION", depth: 0 });
    expect(events).toMatchObject(
      MESSAGES.map(([name, body, part]) => ({
        ...{ name, type: "EVENT", depth: 1, missingParent: false, costSource: "NONE" },
        ...{ input: null, output: null, [part]: body },
        ...{ startTime: "2025-11-22T08:26:40.000Z", endTime: "2025-11-22T08:26:40.000Z" },
        attributes: {
          record: { eventName: name, body, attributes: { "gen_ai.system": "openai" } },
          resource: { "service.name": "quiz" },
          scope: { name: "openai" },
        },
      })),
    );
  },
);

test("an event that is sent again is the same one, in either encoding, and another text is another one", async () => {
  const span = newSpan();
  await send(server, encodeSpans([span]));
  for (const type of [...TYPES, ...TYPES])
    await sendRecords([record(span, "gen_ai.user.message", { content: "a" })], type);
  expect(await nodesOf(span)).toHaveLength(2);
  await sendRecords([record(span, "gen_ai.user.message", { content: "b" })]);
  await sendRecords([record(span, "gen_ai.user.message", { content: "a" }, 1)]);
  await sendRecords([record(span, "gen_ai.system.message", { content: "a" })]);
  const nodes = await nodesOf(span);
  expect(nodes).toHaveLength(5);
  expect(new Set(nodes.map(({ externalId }) => externalId)).size).toBe(5);
});

test("an event may come before its span, and its name may be an attribute", async () => {
  const span = newSpan({ name: "answer" });
  const { eventName, ...named } = record(span, "gen_ai.user.message", "hello");
  const attributes = [pair("event.name", eventName)];
  await sendRecords([{ ...named, attributes, timeUnixNano: "0", observedTimeUnixNano: `${TIME}` }]);
  const [event] = await nodesOf(span);
  expect(event).toMatchObject({ name: eventName, type: "EVENT", missingParent: true, input: "hello" });
  await send(server, encodeSpans([span]));
  expect(await read(span)).toMatchObject({
    ...{ name: "answer", logCount: 2, generationCount: 1 },
    logs: {
      nodes: [
        { name: "answer", depth: 0 },
        { name: eventName, depth: 1, missingParent: false },
      ],
    },
  });
});

test("the details of an operation have the messages of their attributes", async () => {
  const span = newSpan();
  const messages = [{ role: "user", parts: [{ type: "text", content: "Capital of Kenya?" }] }];
  const answers = [
    { role: "assistant", parts: [{ type: "text", content: "Nairobi." }], finish_reason: "stop" },
  ];
  const attributes = [
    pair("gen_ai.input.messages", JSON.stringify(messages)),
    pair("gen_ai.output.messages", JSON.stringify(answers)),
    { key: "gen_ai.usage.input_tokens", value: { intValue: 7 } },
  ];
  const { body: _, ...details } = record(span, "gen_ai.client.inference.operation.details", "");
  await sendRecords([{ ...details, attributes }]);
  expect(await nodesOf(span)).toMatchObject([{ input: messages, output: answers, costSource: "NONE" }]);
});

test.each(TYPES)(
  "of log records as %s only events of GenAI with a span are stored; the answer says so",
  async (type) => {
    const span = newSpan();
    const event = record(span, "gen_ai.user.message", "kept");
    const records = [
      { body: { stringValue: "a line" } },
      { ...event, eventName: "exception" },
      { ...event, traceId: Buffer.alloc(0) },
      { ...event, spanId: Buffer.alloc(8) },
      event,
      { ...event, spanId: Buffer.alloc(4, 1) },
      { ...event, timeUnixNano: "0" },
      { ...event, timeUnixNano: "7" },
    ];
    const { status, answer } = await sendRecords(records, type);
    expect(status).toBe(200);
    const { errorMessage, ...rejected } = answer.partialSuccess;
    expect(rejected).toEqual({ [type === JSON_TYPE ? "rejectedLogRecords" : "rejected"]: 7 });
    expect(errorMessage).toBe(
      "7 of 8 log records were rejected: log record 0 is not an event of GenAI with the ids of its span (and 3 more); " +
        "log record 5 has a span id of 4 bytes instead of 8; log record 6 has no time; log record 7 has an impossible time: " +
        "times are nanoseconds since 1970, here from the year 2000 on. Gabbro stores no other log records: send traces to " +
        "/v1/traces, with the content of messages in span attributes. OTEL_LOGS_EXPORTER=none stops this export.",
    );
    expect(await nodesOf(span)).toMatchObject([{ input: "kept" }]);
  },
);

test("events by gRPC are stored as those by HTTP", async () => {
  using grpc = await connectGrpc(server);
  const span = newSpan();
  await send(server, encodeSpans([span]));
  const body = encodeRecords([record(span, "gen_ai.choice", { message: { content: "Nairobi." } }), {}]);
  const answer = await grpc.send(body, { signal: "logs" });
  expect(answer).toMatchObject({ code: 0, answer: { partialSuccess: { rejected: 1 } } });
  expect(await nodesOf(span)).toMatchObject([
    { name: "chat" },
    { name: "gen_ai.choice", depth: 1, output: { message: { content: "Nairobi." } } },
  ]);
});

test("a token that may only read stores no event", async () => {
  const span = newSpan();
  const { token } = await addToken(server, { scopes: ["read"] });
  const authorization = `Bearer ${token}`;
  const body = encodeRecords([record(span, "gen_ai.user.message", "no")]);
  const { status } = await send(server, body, { path: "/v1/logs", authorization });
  expect(status).toBe(403);
  expect(await read(span)).toBeFalsy();
});

test("mapping stored spans again leaves events as they are", async () => {
  const span = newSpan();
  await send(server, encodeSpans([span]));
  await sendRecords(MESSAGES.map(([name, body], index) => record(span, name, body, index)));
  const before = await nodesOf(span);
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  const period = { from: new Date("2020-01-01"), to: new Date("2030-01-01"), dryRun: false };
  expect(await remapSpans(context, period)).toMatchObject({ changed: 0 });
  expect(await nodesOf(span)).toEqual(before);
});

test("a span and a record with many numbers are written in pieces, and a record that comes again is stored once", async () => {
  const span = newSpan();
  const list = (last: number) => {
    const numbers = [...Array(4_000).fill(4.8351886271828765e268), last]; // V8 takes 6 microseconds to write one
    return { arrayValue: { values: numbers.map((doubleValue) => ({ doubleValue })) } };
  };
  const records = [0.1, 0.2].map((last) => ({ ...record(span, "gen_ai.choice", ""), body: list(last) }));
  const bodies = [
    { path: "/v1/traces", body: encodeSpans([{ ...span, attributes: [{ key: "a", value: list(0.1) }] }]) },
    ...[records[0]!, records[1]!, records[0]!].map((one) => ({
      path: "/v1/logs",
      body: encodeRecords([one]),
    })),
  ];
  const stringify = vi.spyOn(JSON, "stringify");
  for (const { path, body } of bodies) expect((await send(server, body, { path })).status).toBe(200);
  const lengths = stringify.mock.results.map(({ value }) => value?.length ?? 0);
  stringify.mockRestore();
  const keys = 1; // of each record, which has the bits of its numbers
  expect(lengths.filter((length) => length > 50_000)).toHaveLength(3 * keys);
  const stored = await server.database.read
    .selectFrom("Log")
    .select(["type", "output", "attributes"])
    .where("parentExternalId", "=", span.spanId.toString("hex"))
    .execute();
  const lasts = stored.map(({ output }) => (output as number[]).at(-1));
  expect(lasts.toSorted()).toEqual([0.1, 0.2]);
  expect((stored[0]!.output as number[])[0]).toBe(4.8351886271828765e268);
});
