import fc from "fast-check";
import type { OtlpSpan } from "../../src/logs/otlp/span.ts";

/** The same thing as protobufjs encodes it, as OTLP JSON has it, and as the decoder is to return it. */
export interface Twin<Expected> {
  proto: object;
  json: object;
  expected: Expected;
}

/** Texts that databases store. */
const text = fc.string({ unit: "binary" }).filter((value) => value.isWellFormed() && !value.includes("\0"));
const key = fc.oneof(
  text,
  fc.constantFrom("__proto__", "constructor", "toString", "0", "gen_ai.usage.input_tokens"),
);

const integer = fc.bigInt(-(2n ** 63n), 2n ** 63n - 1n).map((value): Twin<unknown> => {
  const isSafe = Number.isSafeInteger(Number(value));
  return {
    proto: { intValue: value.toString() },
    json: { intValue: value.toString() },
    expected: isSafe ? Number(value) : value.toString(),
  };
});

const smallInteger = fc
  .integer()
  .map(
    (value): Twin<unknown> => ({ proto: { intValue: value }, json: { intValue: value }, expected: value }),
  );

const double = fc.double().map((value): Twin<unknown> => {
  const isNumber = Number.isFinite(value);
  return {
    proto: { doubleValue: value },
    json: { doubleValue: isNumber ? value : String(value) },
    expected: isNumber ? value + 0 : String(value),
  };
});

const bytes = fc.uint8Array({ maxLength: 40 }).map((value): Twin<unknown> => {
  const base64 = Buffer.from(value).toString("base64");
  return { proto: { bytesValue: value }, json: { bytesValue: base64 }, expected: base64 };
});

const one =
  (name: string) =>
  (value: unknown): Twin<unknown> => ({
    proto: { [name]: value },
    json: { [name]: value },
    expected: value,
  });

const list = (values: Twin<unknown>[]): Twin<unknown> => ({
  proto: { arrayValue: { values: values.map(({ proto }) => proto) } },
  json: { arrayValue: { values: values.map(({ json }) => json) } },
  expected: values.map(({ expected }) => expected),
});

/** Pairs as KeyValue messages; `expected` has them as an object, in which even `__proto__` is a key of its own. */
function pairs(entries: [string, Twin<unknown>][]) {
  return {
    proto: entries.map(([name, { proto }]) => ({ key: name, value: proto })),
    json: entries.map(([name, { json }]) => ({ key: name, value: json })),
    expected: Object.fromEntries(entries.map(([name, { expected }]) => [name, expected])),
  };
}

const { value } = fc.letrec<{ value: Twin<unknown> }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    text.map(one("stringValue")),
    fc.boolean().map(one("boolValue")),
    integer,
    smallInteger,
    double,
    bytes,
    fc.constant<Twin<unknown>>({ proto: {}, json: {}, expected: null }),
    fc.array(tie("value"), { maxLength: 4 }).map(list),
    fc
      .uniqueArray(fc.tuple(key, tie("value")), { maxLength: 4, selector: ([name]) => name })
      .map(pairs)
      .map(({ proto, json, expected }) => ({
        proto: { kvlistValue: { values: proto } },
        json: { kvlistValue: { values: json } },
        expected,
      })),
  ),
}));

export const attributes = fc
  .uniqueArray(fc.tuple(key, value), { maxLength: 6, selector: ([name]) => name })
  .map(pairs);

const id = (length: number) =>
  fc
    .uint8Array({ minLength: length, maxLength: length })
    .filter((value) => value.some((byte) => byte !== 0))
    .map((value) => Buffer.from(value));

const nanos = fc.bigInt(BigInt(Date.UTC(2000)) * 1_000_000n, 2n ** 64n - 1n);
const iso = (time: bigint) => new Date(Number(time / 1_000_000n)).toISOString();

const event = fc.tuple(text, nanos, attributes).map(([name, time, { proto, json, expected }]) => ({
  proto: { name, timeUnixNano: time.toString(), attributes: proto },
  json: { name, timeUnixNano: time.toString(), attributes: json },
  expected: { name, time: iso(time), attributes: expected },
}));

const link = fc.tuple(id(16), id(8), text, attributes).map(([traceId, spanId, traceState, pairs]) => ({
  proto: { traceId, spanId, traceState, attributes: pairs.proto, flags: 1 },
  json: {
    traceId: traceId.toString("hex"),
    spanId: spanId.toString("hex"),
    traceState,
    attributes: pairs.json,
  },
  expected: {
    traceId: traceId.toString("hex"),
    spanId: spanId.toString("hex"),
    traceState: traceState || null,
    attributes: pairs.expected,
  },
}));

const kinds = ["unspecified", "internal", "server", "client", "producer", "consumer"] as const;
const statuses = [null, "ok", "error"] as const;

/** Any valid span, without the resource and the scope around it. */
export const span = fc
  .record({
    traceId: id(16),
    spanId: id(8),
    parent: fc.option(id(8)),
    isRemote: fc.boolean(),
    name: text,
    kind: fc.nat({ max: 5 }),
    times: fc.tuple(nanos, nanos).map(([a, b]) => (a < b ? [a, b] : [b, a]) as [bigint, bigint]),
    hasEnd: fc.boolean(),
    attributes,
    events: fc.array(event, { maxLength: 3 }),
    links: fc.array(link, { maxLength: 2 }),
    status: fc.nat({ max: 2 }),
    statusMessage: text,
    traceState: text,
    isUpperCase: fc.boolean(),
  })
  .map((made): Twin<Omit<OtlpSpan, "resource" | "scope">> => {
    const [start, end] = made.times;
    const common = {
      name: made.name,
      kind: made.kind,
      startTimeUnixNano: start.toString(),
      ...(made.hasEnd && { endTimeUnixNano: end.toString() }),
      traceState: made.traceState,
      flags: made.isRemote ? 0x301 : 0x101,
      status: { code: made.status, message: made.statusMessage },
      droppedAttributesCount: 2,
    };
    const hex = (value: Buffer) =>
      made.isUpperCase ? value.toString("hex").toUpperCase() : value.toString("hex");
    return {
      proto: {
        ...common,
        traceId: made.traceId,
        spanId: made.spanId,
        ...(made.parent && { parentSpanId: made.parent }),
        attributes: made.attributes.proto,
        events: made.events.map(({ proto }) => proto),
        links: made.links.map(({ proto }) => proto),
      },
      json: {
        ...common,
        traceId: hex(made.traceId),
        spanId: hex(made.spanId),
        parentSpanId: made.parent ? hex(made.parent) : "",
        attributes: made.attributes.json,
        events: made.events.map(({ json }) => json),
        links: made.links.map(({ json }) => json),
        aMemberOfALaterVersion: [{ of: "any" }, "kind"],
      },
      expected: {
        traceId: made.traceId.toString("hex"),
        spanId: made.spanId.toString("hex"),
        parentSpanId: made.parent?.some((byte) => byte !== 0) ? made.parent.toString("hex") : null,
        hasRemoteParent: made.parent !== null && made.isRemote,
        name: made.name,
        kind: kinds[made.kind]!,
        startTime: new Date(iso(start)),
        endTime: made.hasEnd ? new Date(iso(end)) : null,
        startNanos: start.toString(),
        endNanos: made.hasEnd ? end.toString() : null,
        attributes: made.attributes.expected,
        events: made.events.map(({ expected }) => expected),
        links: made.links.map(({ expected }) => expected),
        status: statuses[made.status]!,
        statusMessage: made.statusMessage || null,
        traceState: made.traceState || null,
      },
    };
  });
