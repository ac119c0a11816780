import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import { MAX_FIELDS, MAX_GROUPS, MAX_SPAN_BYTES, MAX_SPANS, MAX_VALUES } from "../../src/logs/otlp/bounds.ts";
import { decodeSpans, type Encoding } from "../../src/logs/otlp/decode.ts";
import type { DecodedSpan, Rejection } from "../../src/logs/otlp/decoded.ts";
import { encode, encodeRepeated, repeatable } from "../support/otlpProto.ts";
import { attributes, span, type Twin } from "../support/otlpSpans.ts";

const RUNS = 500;
const TRACE_ID = "5b8efff798038103d269b633813fc60c";
const SPAN_ID = "eee19b7ec3c1b174";
const START = "1763800000000000001";

function decodeAll(bytes: Buffer, encoding: Encoding) {
  const all = [...decodeSpans({ bytes, encoding })].filter((each) => each !== null);
  return {
    decoded: all.filter((each): each is DecodedSpan => "span" in each),
    rejected: all.filter((each): each is Rejection => "reason" in each),
    spans: all.flatMap((each) => ("span" in each ? each.span : [])),
  };
}

const json = (request: unknown) => decodeAll(Buffer.from(JSON.stringify(request)), "json");
const protobuf = (request: object) => decodeAll(encode("TraceRequest", request), "protobuf");

/** One span in a request as JSON. */
const inRequest = (...spans: unknown[]) => ({ resourceSpans: [{ scopeSpans: [{ spans }] }] });
const valid = { traceId: TRACE_ID, spanId: SPAN_ID, name: "chat", startTimeUnixNano: START };
const ids = { traceId: Buffer.from(TRACE_ID, "hex"), spanId: Buffer.from(SPAN_ID, "hex") };

const around = fc.record({
  resource: attributes,
  scope: fc.record({ name: fc.constantFrom("", "openai"), version: fc.constantFrom("", "1.2"), attributes }),
});

const requests = fc.array(fc.tuple(around, fc.array(span, { maxLength: 3 })), { maxLength: 3 });

test("every span decodes from protobuf to what was encoded", () => {
  fc.assert(
    fc.property(requests, (groups) => {
      const resourceSpans = groups.map(([{ resource, scope }, spans]) => ({
        resource: { attributes: resource.proto },
        scopeSpans: [
          { scope: { ...scope, attributes: scope.attributes.proto }, spans: spans.map(({ proto }) => proto) },
        ],
      }));
      expect(protobuf({ resourceSpans })).toMatchObject({ rejected: [] });
      // Not `toStrictEqual`, which takes a key `constructor` for the type.
      deepStrictEqual(protobuf({ resourceSpans }).spans, expectedOf(groups));
    }),
    { numRuns: RUNS },
  );
});

test("every span decodes from JSON to the same as from protobuf, wherever its resource and scope stand", () => {
  fc.assert(
    fc.property(requests, fc.boolean(), (groups, isLast) => {
      const resourceSpans = groups.map(([{ resource, scope }, spans]) => {
        const named = { scope: { ...scope, attributes: scope.attributes.json } };
        const list = { spans: spans.map((each) => each.json) };
        const scopeSpans = [isLast ? { ...list, ...named } : { ...named, ...list }];
        const beside = { resource: { attributes: resource.json } };
        return isLast ? { scopeSpans, ...beside, schemaUrl: "x" } : { ...beside, scopeSpans };
      });
      deepStrictEqual(json({ resourceSpans, later: { spans: [{}] } }).spans, expectedOf(groups));
    }),
    { numRuns: RUNS },
  );
});

type Groups = [
  { resource: Twin<unknown>; scope: { name: string; version: string; attributes: Twin<unknown> } },
  Twin<object>[],
][];

function expectedOf(groups: unknown) {
  return (groups as Groups).flatMap(([{ resource, scope }, spans]) =>
    spans.map(({ expected }) => ({
      ...expected,
      resource: resource.expected,
      scope: {
        name: scope.name || null,
        version: scope.version || null,
        attributes: scope.attributes.expected,
      },
    })),
  );
}

test("JSON is read with spaces, escapes, quotes and brackets in texts, and whole numbers of any length", () => {
  const text = `{ "resourceSpans" :\n[ { "scopeSpans":[{"spans":[ {"traceId":"${TRACE_ID}", "spanId":"${SPAN_ID}",
    "name":"a \\"]}\\\\", "startTimeUnixNano": ${START}, "attributes":[
      {"key":"long","value":{"intValue": -9223372036854775808}}, {"key":"s","value":{"stringValue":"}]\\\\\\""}}]}\t] }]} ] }\r\n`;
  const { spans } = decodeAll(Buffer.from(text), "json");
  expect(spans[0]).toMatchObject({ name: 'a "]}\\', startNanos: START });
  expect(spans[0]!.attributes).toEqual({ long: "-9223372036854775808", s: '}]\\"' });
});

test("a long whole number is kept where it is one, and costs the other values of its span nothing", () => {
  const parse = vi.spyOn(JSON, "parse");
  const values = [
    ['{"intValue":9007199254740993}', "9007199254740993"],
    ['{"intValue" : -9007199254740993}', "-9007199254740993"],
    ['{"intValue":1234567890123456}', 1234567890123456],
    ['{"intValue":1234567890123456.0}', 1234567890123456],
    ['{"doubleValue":9007199254740993}', 9007199254740992],
    ['{"stringValue":"\\"intValue\\":9007199254740993"}', '"intValue":9007199254740993'],
  ] as const;
  const attributes = values.map(([value], at) => `{"key":"${at}","value":${value}}`).join();
  const event = `{"name":"e","timeUnixNano":1763800000000000001,"attributes":[${attributes}]}`;
  const text = JSON.stringify(inRequest(valid)).replace(`"name":"chat"`, `"events":[${event}]`);
  const { spans } = decodeAll(Buffer.from(text), "json");
  expect(parse.mock.calls.filter(([, reviver]) => reviver)).toEqual([]);
  parse.mockRestore();
  expect(Object.values(spans[0]!.events[0]!.attributes)).toEqual(values.map(([, expected]) => expected));
});

test.each([
  ["no trace id", { traceId: "" }, "ids", "has no trace id"],
  ["a trace id of zeros", { traceId: "0".repeat(32) }, "ids", "has a trace id of zeros"],
  ["a short span id", { spanId: "0a0b" }, "ids", "has a span id of 2 bytes instead of 8"],
  ["an id in base64", { traceId: "W47/95gDgQPSabYzgT/GDA==" }, "ids", "that is not hexadecimal"],
  ["a short parent", { parentSpanId: "0a" }, "ids", "has a parent span id of 1 bytes instead of 8"],
  ["no start", { startTimeUnixNano: "0" }, "start", "has no start time"],
  ["a start in milliseconds", { startTimeUnixNano: "1763800000000" }, "start", "nanoseconds"],
  ["a start of words", { startTimeUnixNano: "today" }, "start", "impossible"],
  ["attributes that are no list", { attributes: { a: 1 } }, "malformed", '"attributes" that is not a list'],
])("a span with %s is rejected, and its neighbours are kept", (_, change, code, reason) => {
  const { spans, rejected } = json(inRequest(valid, { ...valid, ...change }, valid));
  expect(spans).toHaveLength(2);
  expect(rejected).toEqual([{ index: 1, code, reason: expect.stringContaining(reason) }]);
});

test.each(["protobuf", "json"] as const)(
  "log records that are sent as spans in %s are named so",
  (encoding) => {
    const record = {
      timeUnixNano: START,
      severityNumber: 9,
      severityText: "INFO",
      body: { stringValue: "hi" },
    };
    const resourceLogs = [{ scopeLogs: [{ logRecords: [{ ...record, traceId: ids.traceId }] }] }];
    const { rejected } =
      encoding === "protobuf"
        ? decodeAll(encode("LogsRequest", { resourceLogs }), "protobuf")
        : json(inRequest({ ...record }));
    expect(rejected).toEqual([
      { index: 0, code: "log_record", reason: expect.stringContaining("send logs to /v1/logs") },
    ]);
  },
);

test("a member of a value that is null counts as absent", () => {
  const values = [
    { stringValue: "a" },
    { boolValue: false },
    { intValue: "7" },
    { doubleValue: 1.5 },
    { bytesValue: "YQ==" },
    { arrayValue: { values: [{ intValue: 1 }] } },
    { kvlistValue: { values: [{ key: "b", value: { intValue: 1 } }] } },
    {},
  ];
  const none = Object.fromEntries(values.flatMap((value) => Object.keys(value)).map((name) => [name, null]));
  const listed = values.map((value, at) => ({ key: `${at}`, value: { ...none, ...value } }));
  const { spans, rejected } = json(inRequest({ ...valid, attributes: listed }));
  expect(rejected).toEqual([]);
  expect(Object.values(spans[0]!.attributes)).toEqual(["a", false, 7, 1.5, "YQ==", [1], { b: 1 }, null]);
});

test("a span that ends before it starts is kept without an end, and the warning says so", () => {
  const { decoded } = json(inRequest({ ...valid, endTimeUnixNano: "1763800000000000000" }));
  expect(decoded[0]).toMatchObject({
    span: { endTime: null, endNanos: null },
    warnings: ["ends before it starts, so it is stored without an end"],
  });
});

test.each(["protobuf", "json"] as const)(
  "characters that no database stores are replaced in %s",
  (encoding) => {
    const request = inRequest({ ...valid, ...(encoding === "protobuf" && ids), name: "a\0b" });
    const { decoded } = encoding === "protobuf" ? protobuf(request) : json(request);
    expect(decoded[0]!.span.name).toBe("a\uFFFDb");
    expect(decoded[0]!.warnings).toEqual([expect.stringContaining("U+FFFD")]);
  },
);

const nested = (depth: number): object =>
  depth === 0 ? { stringValue: "x" } : { arrayValue: { values: [nested(depth - 1)] } };
const withValue = (value: object) => ({ attributes: [{ key: "a", value }] });

test.each(["events", "links", "other"])("a span of JSON with too many %s is rejected", (name) => {
  const many = name === "other" ? 8 * MAX_VALUES : MAX_VALUES + 1;
  const { rejected } = json(inRequest({ ...valid, [name]: Array(many).fill({}) }));
  expect(rejected).toEqual([{ index: 0, code: "too_large", reason: `has more than ${MAX_VALUES} values` }]);
});

test.each(["protobuf", "json"] as const)("values are nested up to 100 levels deep in %s", (encoding) => {
  const decodeOne = (value: object) => {
    const request = inRequest({ ...valid, ...(encoding === "protobuf" && ids), ...withValue(value) });
    return encoding === "protobuf" ? protobuf(request) : json(request);
  };
  expect(decodeOne(nested(99)).rejected).toEqual([]);
  expect(decodeOne(nested(100)).rejected).toMatchObject([{ code: "too_deep" }]);
});

test.each(["protobuf", "json"] as const)(
  "a span with too many values or bytes is rejected in %s",
  (encoding) => {
    const many = { arrayValue: { values: Array.from({ length: MAX_VALUES }, () => ({ boolValue: true })) } };
    const large = { stringValue: "x".repeat(MAX_SPAN_BYTES) };
    const base = { ...valid, ...(encoding === "protobuf" && ids) };
    const request = inRequest({ ...base, ...withValue(many) }, { ...base, ...withValue(large) }, base);
    const { spans, rejected } = encoding === "protobuf" ? protobuf(request) : json(request);
    expect(rejected).toMatchObject([
      { index: 0, code: "too_large", reason: `has more than ${MAX_VALUES} values` },
      { index: 1, code: "too_large", reason: "is larger than 10 MB as JSON" },
    ]);
    expect(spans).toHaveLength(1);
  },
);

test.each(Object.keys(repeatable) as (keyof typeof repeatable)[])(
  "a span of protobuf that repeats %s very often is rejected, as each of them is read",
  (field) => {
    const decodeOne = (times: number) =>
      decodeAll(encodeRepeated([{ ...valid, ...ids }], field, times), "protobuf");
    const reason = `has more than ${MAX_FIELDS} fields`;
    expect(decodeOne(MAX_FIELDS - 10)).toMatchObject({ spans: [{ traceId: TRACE_ID }], rejected: [] });
    expect(decodeOne(MAX_FIELDS)).toMatchObject({ spans: [], rejected: [{ code: "too_large", reason }] });
  },
);

test.each([
  ["control characters, in six bytes", "\u0001", 6],
  ["lines, in two", "\n", 2],
  ["backslashes, in two", "\\", 2],
  ["letters, in one", "x", 1],
])("a span of protobuf counts as JSON, which writes %s", (_, character, bytes) => {
  const characters = Math.floor(MAX_SPAN_BYTES / bytes);
  const reasonOf = (count: number) => {
    const value = { stringValue: character.repeat(count) };
    return protobuf(inRequest({ ...valid, ...ids, ...withValue(value) })).rejected[0]?.reason;
  };
  expect(reasonOf(characters + 1)).toBe("is larger than 10 MB as JSON");
  expect(reasonOf(characters - 1_000)).toBeUndefined();
});

test("a span of protobuf counts U+FFFD in place of bytes that are not UTF-8, in three bytes", () => {
  const reasonOf = (bytes: number) => {
    const value = { stringValue: "~".repeat(bytes) };
    const body = encode("TraceRequest", inRequest({ ...valid, ...ids, ...withValue(value) }));
    const start = body.indexOf("~".repeat(bytes));
    return decodeAll(body.fill(0xff, start, start + bytes), "protobuf").rejected[0]?.reason;
  };
  const bytes = Math.floor(MAX_SPAN_BYTES / 3);
  expect(reasonOf(bytes + 1)).toBe("is larger than 10 MB as JSON");
  expect(reasonOf(bytes - 1_000)).toBeUndefined();
});

test.each(["protobuf", "json"] as const)(
  "a resource of %s is read once for all of its scopes",
  (encoding) => {
    const resource = { attributes: [{ key: "service.name", value: { stringValue: "quiz" } }] };
    const spans = [encoding === "protobuf" ? { ...valid, ...ids } : valid];
    const scopeSpans = ["a", "b"].map((name) => ({ scope: { name }, spans: [...spans, ...spans] }));
    const request = { resourceSpans: [{ resource, scopeSpans }, { scopeSpans }] };
    const [first, ...others] = (encoding === "protobuf" ? protobuf(request) : json(request)).spans;
    expect(others.map(({ resource, scope }) => [resource === first!.resource, scope.name])).toEqual([
      [true, "a"],
      [true, "b"],
      [true, "b"],
      ...["a", "a", "b", "b"].map((name) => [false, name]),
    ]);
  },
);

test("the spans of a resource that is too large are rejected, and those of others are kept", () => {
  const large = { attributes: [{ key: "a", value: { stringValue: "x".repeat(70_000) } }] };
  const scopeSpans = [{ spans: [valid] }];
  const { spans, rejected } = json({ resourceSpans: [{ resource: large, scopeSpans }, { scopeSpans }] });
  expect(rejected).toMatchObject([{ index: 0, code: "too_large" }]);
  expect(spans).toHaveLength(1);
});

test.each(["short", "a text of more than twelve bytes"])("a byte order mark in %s is kept", (text) => {
  const name = `\uFEFF${text}`;
  expect(protobuf(inRequest({ ...valid, ...ids, name })).spans[0]!.name).toBe(name);
  expect(json(inRequest({ ...valid, name })).spans[0]!.name).toBe(name);
});

test("JSON may have characters of any length at any place, and bytes that are none are refused", () => {
  const large = (prefix: string) => ({ ...valid, name: `${prefix}${"é€𝄞".repeat(500_000)}` });
  for (const prefix of ["", "x", "xx", "xxx"])
    expect(json(inRequest(large(prefix))).spans[0]!.name).toBe(large(prefix).name);
  const bytes = Buffer.from(JSON.stringify(inRequest(valid)).replace("chat", "caf\xff"), "latin1");
  expect(() => decodeAll(bytes, "json")).toThrow("not UTF-8");
  expect(() => decodeAll(Buffer.alloc(5_000_000, 0x80), "json")).toThrow("not UTF-8");
});

/** Pauses count as groups: there are fewer in these requests. */
const PAUSES = 10;
test.each([
  ["spans", MAX_SPANS, (count: number) => [{ scopeSpans: [{ spans: Array(count).fill({}) }] }]],
  ["resources", MAX_GROUPS - PAUSES, (count: number) => Array(count).fill({})],
  ["scopes", MAX_GROUPS - PAUSES, (count: number) => [{ scopeSpans: Array(count).fill({}) }]],
])("a request with too many %s is refused", (_, max, resourceSpansOf) => {
  const [most, more] = [max, max + PAUSES + 1].map((count) => ({ resourceSpans: resourceSpansOf(count) }));
  for (const decode of [protobuf, json]) {
    expect(() => decode(most!)).not.toThrow();
    expect(() => decode(more!)).toThrow(`more than ${MAX_SPANS} spans, or more than ${MAX_GROUPS} groups`);
  }
});

/** A field of a message with what it holds. */
function wrapped(field: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let left = content.length; left > 0 || length.length === 0; left >>= 7)
    length.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
  return Buffer.concat([Buffer.from([field * 8 + 2, ...length]), content]);
}

/** How often others may have a turn while a request without spans is read. */
const pausesIn = (bytes: Buffer, encoding: Encoding) => [...decodeSpans({ bytes, encoding })].length;
const MB = 1024 * 1024;

test.each([
  ["a text of quotes", `{"a":"${'\\"'.repeat(MB)}"}`],
  ["texts", `{"a":[${'"text",'.repeat(MB / 4)}1]}`],
  ["brackets", `{"a":${"[".repeat(MB)}${"]".repeat(MB)}}`],
])("others have turns while %s of 2 MB is skipped in JSON", (_, text) => {
  expect(pausesIn(Buffer.from(text), "json")).toBeGreaterThanOrEqual(7);
});

test.each([
  ["a number", `{"a":${"1".repeat(MB)}}`],
  ["space", `{"a":${" ".repeat(MB)}1}`],
  ["a key", `{"${'\\"'.repeat(MB / 2)}":1}`],
])("%s of 1 MB in JSON is refused", (_, text) => {
  expect(() => pausesIn(Buffer.from(text), "json")).toThrow("not valid JSON");
});

test.each([
  ["a request", (fields: Buffer) => fields],
  ["a resource", (fields: Buffer) => wrapped(1, fields)],
  ["a scope", (fields: Buffer) => wrapped(1, wrapped(2, fields))],
])("others have turns while fields of 2 MB are skipped in %s of protobuf", (_, within) => {
  for (const field of [
    [0x50, 1],
    [0x52, 0],
  ]) // one that is a number, and one that is an empty text
    expect(pausesIn(within(Buffer.alloc(2 * MB, Buffer.from(field))), "protobuf")).toBeGreaterThanOrEqual(7);
});

test.each(["protobuf", "json"] as const)(
  "%s that is cut anywhere is refused or loses nothing of what it has",
  (encoding) => {
    const request = inRequest({ ...valid, ...(encoding === "protobuf" && ids), ...withValue(nested(2)) });
    const whole =
      encoding === "protobuf" ? encode("TraceRequest", request) : Buffer.from(JSON.stringify(request));
    for (let length = 1; length < whole.length; length++)
      expect(() => decodeAll(whole.subarray(0, length), encoding), `${length}`).toThrow(
        /cannot be read as OTLP/,
      );
  },
);

test.each([
  ["a time", {}],
  ["a text", withValue({ stringValue: "text" })],
])(
  "a span that is cut within %s is rejected, reads nothing of the next one, and costs it nothing",
  (_, more) => {
    const sent = { ...ids, startTimeUnixNano: START, endTimeUnixNano: START, ...more };
    // The span is three levels deep, each with a tag and a length of one byte.
    const whole = encode("TraceRequest", inRequest(sent)).subarray(4);
    const cut = whole.subarray(2, -3);
    const bytes = wrapped(1, wrapped(2, Buffer.concat([wrapped(2, cut), whole])));
    const decode = vi.spyOn(TextDecoder.prototype, "decode");
    const { spans, rejected } = decodeAll(bytes, "protobuf");
    expect(rejected).toEqual([{ index: 0, code: "malformed", reason: "is damaged" }]);
    expect(spans).toMatchObject([{ traceId: TRACE_ID, spanId: SPAN_ID }]);
    for (const [text] of decode.mock.calls) expect((text as Buffer).length).toBeLessThan(whole.length);
    decode.mockRestore();
  },
);

test("a text that claims the rest of the request is not decoded", () => {
  const long = Buffer.concat([Buffer.from([0x2a, 0xe4, 0x00]), Buffer.alloc(9)]); // a name of 100 bytes
  const bytes = wrapped(1, wrapped(2, Buffer.concat([wrapped(2, long), wrapped(2, Buffer.alloc(100, "x"))])));
  const decode = vi.spyOn(TextDecoder.prototype, "decode");
  expect(decodeAll(bytes, "protobuf").rejected).toMatchObject([{ code: "malformed" }, {}]);
  expect(decode.mock.calls.filter(([text]) => (text as Buffer).length >= 100)).toEqual([]);
  decode.mockRestore();
});

test("random bytes are refused or rejected, never an error of the server", () => {
  const sample = encode("TraceRequest", inRequest({ ...valid, ...ids, ...withValue(nested(2)) }));
  const broken = fc.tuple(fc.nat(sample.length - 1), fc.nat(255)).map(([at, byte]) => {
    const bytes = Buffer.from(sample);
    bytes[at] = byte;
    return bytes;
  });
  fc.assert(
    fc.property(
      fc.oneof(broken, fc.uint8Array().map(Buffer.from)),
      fc.constantFrom<Encoding>("protobuf", "json"),
      (bytes, encoding) => {
        try {
          decodeAll(bytes, encoding);
        } catch (error) {
          expect(error).toMatchObject({ code: "BAD_REQUEST" });
        }
      },
    ),
    { numRuns: 3_000 },
  );
});

test.each([
  ["protobuf", "two values", "k", 2],
  ["json", "two values", "k", 2],
  ["protobuf", "three, if their names are numbers", "", 3],
  ["json", "three, if their names are numbers", "", 3],
] as const)("in %s members of objects count as %s", (encoding, _, mark, each) => {
  const decode = (members: number) => {
    const values = Array.from({ length: members }, (_, n) => ({
      key: `${mark}${10_000 + n}`,
      value: { boolValue: true },
    }));
    const span = { ...valid, ...(encoding === "protobuf" && ids), ...withValue({ kvlistValue: { values } }) };
    return encoding === "protobuf" ? protobuf(inRequest(span)) : json(inRequest(span));
  };
  const most = Math.floor(MAX_VALUES / each) - 1; // with the attribute that holds them
  expect(decode(most).rejected).toEqual([]);
  expect(decode(most + 3).rejected).toMatchObject([{ code: "too_large" }]);
});
