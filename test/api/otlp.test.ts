import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addToken } from "../support/data.ts";
import { encodeSpans, JSON_TYPE, newSpan, PROTOBUF, send, TYPES } from "../support/otlp.ts";
import { encode } from "../support/otlpProto.ts";
import { type Server, startServer } from "../support/server.ts";

const metricsToken = "a-token-for-watching-only-0123";
let server: Server;
beforeAll(async () => {
  server = await startServer({ metricsToken });
});
afterAll(() => server[Symbol.asyncDispose]());

const basic = (user: string, password: string) =>
  `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;

test.each(TYPES)("a request as %s is a full success: 200, its type, and nothing set", async (type) => {
  const { status, headers, answer } = await send(server, encodeSpans([newSpan(), newSpan()], type), { type });
  expect({ status, type: headers.get("content-type"), answer }).toEqual({ status: 200, type, answer: {} });
});

test.each(["/v1/traces", "/", "/api/public/otel/v1/traces"])(
  "%s takes both types, packed and not, with the token as Bearer or as a Basic password",
  async (path) => {
    for (const type of TYPES)
      for (const authorization of [`Bearer ${server.token}`, basic("pk-any", server.token)]) {
        const body = encodeSpans([newSpan()], type);
        const plain = await send(server, body, { type, path, authorization });
        expect(plain).toMatchObject({ status: 200, answer: {} });
        const headers = { "content-encoding": "gzip" };
        const packed = await send(server, gzipSync(body), { type, path, authorization, headers });
        expect(packed).toMatchObject({ status: 200, answer: {} });
      }
  },
);

/** A field that OpenTelemetry does not know, whose number has so many bytes. */
const unknownNumber = (bytes: number) => Buffer.of(0x98, 0x06, ...Array(bytes - 1).fill(0x80), 1);

test("an empty request is a success in protobuf, and a body that is not JSON is refused in JSON", async () => {
  expect(await send(server, Buffer.alloc(0))).toMatchObject({ status: 200, answer: {} });
  const { status, answer } = await send(server, Buffer.alloc(0), { type: JSON_TYPE });
  expect({ status, code: answer.code }).toEqual({ status: 400, code: 3 });
});

test.each(TYPES)("one invalid span costs no other: the answer as %s counts it and says why", async (type) => {
  const spans = [newSpan(), newSpan({ spanId: Buffer.alloc(8) }), newSpan({ spanId: Buffer.alloc(8) })];
  const { status, answer } = await send(server, encodeSpans(spans, type), { type });
  expect(status).toBe(200);
  expect(answer.partialSuccess).toEqual({
    [type === PROTOBUF ? "rejected" : "rejectedSpans"]: 2,
    errorMessage: "2 of 3 spans were rejected: span 1 has a span id of zeros (and 1 more).",
  });
});

test.each(TYPES)("a span that was changed is a warning as %s: no rejection, but a message", async (type) => {
  const spans = [newSpan({ endTimeUnixNano: "1" })];
  const { status, answer } = await send(server, encodeSpans(spans, type), { type });
  expect(status).toBe(200);
  expect(answer.partialSuccess.errorMessage).toBe(
    "Stored with warnings: span 0: ends before it starts, so it is stored without an end.",
  );
  expect(answer.partialSuccess.rejectedSpans ?? 0).toBe(0);
});

test.each([
  ["/v1/logs", "rejectedLogRecords", "Gabbro stores no other log records"],
  ["/v1/metrics", "rejectedDataPoints", "Gabbro stores no metrics"],
])(
  "%s rejects all that it gets as a partial success, and says what to do",
  async (path, member, sentence) => {
    const isLogs = path === "/v1/logs";
    const point = { timeUnixNano: "1763800000000000000", asDouble: 1 };
    const metrics = [
      { name: "a", gauge: { dataPoints: [point] } },
      { name: "b", sum: { dataPoints: [point] } },
    ];
    const request = isLogs
      ? { resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "a" } }, {}] }] }] }
      : { resourceMetrics: [{ scopeMetrics: [{ metrics }] }] };
    const bytes = encode(isLogs ? "LogsRequest" : "MetricsRequest", request);
    const protobuf = await send(server, bytes, { path });
    expect(protobuf).toMatchObject({ status: 200, answer: { partialSuccess: { rejected: 2 } } });
    const json = await send(server, Buffer.from(JSON.stringify(request)), { path, type: JSON_TYPE });
    expect(json.answer.partialSuccess).toMatchObject({
      [member]: 2,
      errorMessage: expect.stringContaining(sentence),
    });
    expect(await send(server, Buffer.alloc(0), { path })).toMatchObject({ status: 200, answer: {} });
  },
);

test.each(TYPES)("a metric of %s over 1 MB counts as one data point, unread", async (type) => {
  const points = (count: number) => ({ gauge: { dataPoints: Array(count).fill({ asDouble: 0.123456789 }) } });
  const resourceMetrics = [{ scopeMetrics: [{ metrics: [points(130_000), points(2)] }] }];
  const body =
    type === JSON_TYPE
      ? Buffer.from(JSON.stringify({ resourceMetrics }))
      : encode("MetricsRequest", { resourceMetrics });
  const { answer } = await send(server, body, { path: "/v1/metrics", type });
  const { rejected, rejectedDataPoints = rejected } = answer.partialSuccess;
  expect(rejectedDataPoints).toBe(3);
});

test.each(TYPES)(
  "a dry run of %s answers JSON with what each span becomes, and stores nothing",
  async (type) => {
    const spans = [newSpan({ name: "plan" }), newSpan({ spanId: Buffer.alloc(8) })];
    const path = "/v1/traces?dryRun=1";
    const before = await acceptedSpans();
    const { status, headers, answer } = await send(server, encodeSpans(spans, type), { type, path });
    expect({ status, type: headers.get("content-type") }).toEqual({
      status: 200,
      type: "application/json; charset=utf-8",
    });
    expect(answer).toMatchObject({
      total: 2,
      rejectedSpans: 1,
      leftOut: 0,
      rejected: [{ index: 1, code: "ids", reason: "has a span id of zeros" }],
      spans: [{ isRoot: true, log: { name: "plan", externalId: expect.stringMatching(/^[\da-f]{16}$/) } }],
    });
    expect(await acceptedSpans()).toBe(before);
  },
);

test("a dry run shows a megabyte of spans and counts the others, as its answer is in memory", async () => {
  const attributes = [{ key: "input.value", value: { stringValue: "word ".repeat(80_000) } }];
  const spans = Array.from({ length: 5 }, () => newSpan({ attributes }));
  const path = "/v1/traces?dryRun=1";
  const { answer } = await send(server, encodeSpans(spans, TYPES[0]!), { type: TYPES[0]!, path });
  expect(answer).toMatchObject({ total: 5, leftOut: 3 });
  expect(answer.spans).toHaveLength(2);
});

test("a dry run that is asked for twice stores nothing either", async () => {
  const before = await acceptedSpans();
  const path = "/v1/traces?dryRun=1&dryRun=1";
  expect(
    (await send(server, encodeSpans([newSpan()], TYPES[0]!), { type: TYPES[0]!, path })).answer.total,
  ).toBe(1);
  expect(await acceptedSpans()).toBe(before);
});

async function acceptedSpans(): Promise<number> {
  const { body } = await server.get("/metrics", { token: metricsToken });
  return Number(/^gabbro_otlp_spans_total\{result="accepted",reason=""\} (\d+)$/m.exec(body)?.[1]);
}

test("metrics count accepted spans, and rejected ones by reason", async () => {
  await using other = await startServer({ metricsToken });
  await send(other, encodeSpans([newSpan(), newSpan(), newSpan({ startTimeUnixNano: "7" })]));
  const { body } = await other.get("/metrics", { token: metricsToken });
  expect(body).toContain('gabbro_otlp_spans_total{result="accepted",reason=""} 2\n');
  expect(body).toContain('gabbro_otlp_spans_total{result="rejected",reason="start"} 1\n');
});

test.each(TYPES)("errors are a Status as %s: no token, a wrong one, one without the scope", async (type) => {
  const body = encodeSpans([newSpan()], type);
  const { token } = await addToken(server, { scopes: ["read"] });
  const cases: [string | null, number, number][] = [
    [null, 401, 16],
    ["Bearer gab_wrong", 401, 16],
    [basic("pk", "wrong"), 401, 16],
    [`Bearer ${token}`, 403, 7],
  ];
  for (const [authorization, status, code] of cases) {
    const sent = await send(server, body, { type, authorization });
    expect({ status: sent.status, type: sent.headers.get("content-type") }).toEqual({ status, type });
    expect(sent.answer).toEqual({ code, message: expect.stringMatching(/token/) });
  }
});

test("bodies that cannot be read are refused with a sentence", async () => {
  const whole = encodeSpans([newSpan()]);
  const packed = gzipSync(whole);
  const gzip = { "content-encoding": "gzip" };
  const cases: [string, Buffer, Parameters<typeof send>[2], number, RegExp][] = [
    ["cut", whole.subarray(0, -3), {}, 400, /cannot be read as OTLP protobuf/],
    ["a number of 11 bytes", unknownNumber(11), {}, 400, /cannot be read as OTLP protobuf/],
    ["one within", Buffer.of(10, 13, ...unknownNumber(11)), {}, 400, /cannot be read as OTLP protobuf/],
    ["JSON as protobuf", encodeSpans([newSpan()], JSON_TYPE), {}, 400, /cannot be read as OTLP protobuf/],
    ["protobuf as JSON", whole, { type: JSON_TYPE }, 400, /cannot be read as OTLP JSON/],
    ["cut gzip", packed.subarray(0, -9), { headers: gzip }, 400, /not valid gzip/],
    ["not gzip", whole, { headers: gzip }, 400, /not valid gzip/],
    ["brotli", whole, { headers: { "content-encoding": "br" } }, 415, /use gzip or none/],
    ["text", whole, { type: "text/plain" }, 415, /application\/x-protobuf or application\/json/],
  ];
  for (const [name, body, sent, status, message] of cases) {
    const refused = await send(server, body, sent);
    expect(refused.status, name).toBe(status);
    expect(refused.answer.message, name).toMatch(message);
    expect(refused.answer.code, name).toBe(status === 415 ? 12 : 3);
  }
});

const listNames = [
  ["/v1/traces", "resourceSpans", "scopeSpans", "spans"],
  ["/v1/logs", "resourceLogs", "scopeLogs", "logRecords"],
  ["/v1/metrics", "resourceMetrics", "scopeMetrics", "metrics"],
] as const;

test.each(listNames)(
  "JSON for %s whose lists are none, or have items that are no objects, is refused",
  async (path, resources, scopes, elements) => {
    const answerTo = async (body: object) => {
      const sent = await send(server, Buffer.from(JSON.stringify(body)), { type: JSON_TYPE, path });
      return { status: sent.status, ...sent.answer };
    };
    const refused = (reason: string) => ({
      ...{ status: 400, code: 3 },
      message: expect.stringMatching(`^The body cannot be read as OTLP JSON: ${reason} at position \\d+\\.$`),
    });
    for (const wrong of [{}, { "0": {} }, "x", 1, false]) {
      expect(await answerTo({ [resources]: wrong })).toEqual(refused(`"${resources}" is not a list`));
      expect(await answerTo({ [resources]: [{ [scopes]: wrong }] })).toEqual(
        refused(`"${scopes}" is not a list`),
      );
      expect(await answerTo({ [resources]: [{ [scopes]: [{ [elements]: wrong }] }] })).toEqual(
        refused(`"${elements}" is not a list`),
      );
    }
    for (const wrong of ["x", 1, []]) {
      expect(await answerTo({ [resources]: [{}, wrong] })).toEqual(
        refused(`"${resources}" has an item that is not an object`),
      );
      expect(await answerTo({ [resources]: [{ [scopes]: [{}, wrong] }] })).toEqual(
        refused(`"${scopes}" has an item that is not an object`),
      );
    }
    for (const empty of [null, undefined, []])
      for (const body of [
        { [resources]: empty },
        { [resources]: [{ [scopes]: empty }, null] },
        { [resources]: [{ [scopes]: [{ [elements]: empty }, null] }] },
      ])
        expect(await answerTo(body)).toEqual({ status: 200 });
  },
);

test("POST / answers as any unknown path does, unless the body is of OpenTelemetry", async () => {
  const { status, body } = await server.post("/", "text", {
    headers: { "content-type": "text/plain" },
    token: null,
  });
  expect({ status, code: body.code }).toEqual({ status: 404, code: "ROUTE_NOT_FOUND" });
  expect(await server.get("/", { token: null })).toMatchObject({ status: 404 });
  expect(await server.request("PUT", "/", {})).toMatchObject({ status: 404 });
});
