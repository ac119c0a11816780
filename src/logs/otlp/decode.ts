import { isUtf8 } from "node:buffer";
import { GabbroError } from "../../errors.ts";
import { addProblem, newReading, type Reading } from "./attributes.ts";
import { MAX_GROUPS, MAX_METRIC_BYTES, MAX_RESOURCE_BYTES, MAX_SPAN_BYTES, MAX_SPANS } from "./bounds.ts";
import { checkSpan, type RawSpan } from "./checkSpan.ts";
import type {
  Decoded,
  DecodedLogRecord,
  DecodedSpan,
  Element,
  Elements,
  Problem,
  Rejection,
  Slice,
} from "./decoded.ts";
import * as json from "./json.ts";
import { NOT_JSON } from "./jsonScan.ts";
import { checkLogRecord, type RawLogRecord } from "./logRecord.ts";
import * as protobuf from "./protobuf.ts";
import type { OtlpAttributes, OtlpScope } from "./span.ts";

export type Encoding = "protobuf" | "json";
export type Signal = "traces" | "logs" | "metrics";

const lists: Record<Signal, json.Lists> = {
  traces: { resources: "resourceSpans", scopes: "scopeSpans", elements: "spans" },
  logs: { resources: "resourceLogs", scopes: "scopeLogs", elements: "logRecords" },
  metrics: { resources: "resourceMetrics", scopes: "scopeMetrics", elements: "metrics" },
};

/** The body of a request, and what it claims to be. */
export interface Encoded {
  bytes: Buffer;
  encoding: Encoding;
}

interface Readers {
  /** What a part takes as JSON, about. */
  jsonBytes(bytes: Buffer, slice: Slice): number;
  readResource(bytes: Buffer, slice: Slice, reading: Reading): OtlpAttributes;
  readScope(bytes: Buffer, slice: Slice, reading: Reading): OtlpScope;
  readSpan(bytes: Buffer, slice: Slice, reading: Reading): RawSpan;
  readLogRecord(bytes: Buffer, slice: Slice, reading: Reading): RawLogRecord;
  countPoints(bytes: Buffer, slice: Slice): number;
}

const readersOf: Record<Encoding, Readers> = { protobuf, json };

/**
 * The spans of a request, valid or rejected, in their order; null where others may have a turn. Throws BAD_REQUEST when the
 * body around the spans cannot be read, or when there are too many.
 */
export const decodeSpans = (body: Encoded): Generator<DecodedSpan | Rejection | null> =>
  decodeElements(body, "traces", {
    read: ({ readSpan }, slice, reading) => readSpan(body.bytes, slice, reading),
    check: checkSpan,
  });

/** The events of GenAI among the log records of a request; the others are rejected. Otherwise like `decodeSpans`. */
export const decodeLogRecords = (body: Encoded): Generator<DecodedLogRecord | Rejection | null> =>
  decodeElements(body, "logs", {
    read: ({ readLogRecord }, slice, reading) => readLogRecord(body.bytes, slice, reading),
    check: (raw, around) => {
      const checked = checkLogRecord(raw, around);
      return "record" in checked ? { ...checked, warnings: [] } : checked;
    },
  });

const LARGE_BYTES = 1024 * 1024;

function* decodeElements<Raw, Checked>(
  body: Encoded,
  signal: Signal,
  steps: Steps<Raw, Checked>,
): Generator<(Checked & Decoded) | Rejection | null> {
  const { jsonBytes } = readersOf[body.encoding];
  const decode = createDecoder(body, steps);
  let index = 0;
  for (const element of elementsOf(body, signal)) {
    if (element === null) {
      yield null;
      continue;
    }
    const size = jsonBytes(body.bytes, element);
    if (sizeOf(element) > LARGE_BYTES) yield null; // to look at 10 MB takes as long as to decode them
    yield size > MAX_SPAN_BYTES ? { index, ...LARGER } : decode(element, index, size);
    index += 1;
  }
}

const LARGER: Problem = {
  code: "too_large",
  reason: `is larger than ${MAX_SPAN_BYTES / 1024 / 1024} MB as JSON`,
};

/** Counts data points; yields where others may have a turn. */
export function* countPoints(body: Encoded): Generator<null, number> {
  const { countPoints: count } = readersOf[body.encoding];
  const pointsOf = (metric: Slice): number =>
    sizeOf(metric) > MAX_METRIC_BYTES
      ? 1
      : (readOrReject(newReading(), () => count(body.bytes, metric)) ?? 1);
  let points = 0;
  for (const metric of elementsOf(body, "metrics")) {
    if (metric !== null) points += pointsOf(metric);
    yield null;
  }
  return points;
}

/** The places of all elements; throws BAD_REQUEST. */
function* elementsOf({ bytes, encoding }: Encoded, signal: Signal): Elements {
  let groups = 0;
  let spans = 0;
  try {
    if (encoding === "json") yield* checkUtf8(bytes);
    const elements =
      encoding === "json" ? json.jsonElements(bytes, lists[signal]) : protobuf.protobufElements(bytes);
    for (const element of elements) {
      if (element === null) groups += 1;
      else spans += 1;
      if (spans > MAX_SPANS || groups > MAX_GROUPS) throw tooMany();
      yield element;
    }
  } catch (error) {
    throw isOfCaller(error) ? unreadable(encoding, error as Error) : error;
  }
}

const MAX_UTF8_BYTES_IN_TURN = 4 * 1024 * 1024;

/** Decoding would replace what is not UTF-8. */
function* checkUtf8(bytes: Buffer): Generator<null> {
  let start = 0;
  while (start < bytes.length) {
    let end = Math.min(start + MAX_UTF8_BYTES_IN_TURN, bytes.length);
    while (end > start && isInsideCharacter(bytes[end])) end -= 1;
    if (end === start || !isUtf8(bytes.subarray(start, end)))
      throw new Error("not UTF-8", { cause: NOT_JSON });
    yield null;
    start = end;
  }
}

const isInsideCharacter = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

const tooMany = () =>
  new GabbroError(
    "BAD_REQUEST",
    `The request has more than ${MAX_SPANS} spans, or more than ${MAX_GROUPS} groups of them. Send fewer at once.`,
  );

/** pbf throws plain errors, DataView throws RangeErrors, and JSON.parse throws SyntaxErrors. */
function isOfCaller(error: unknown): boolean {
  return error instanceof Error && !(error instanceof GabbroError) && !(error instanceof TypeError);
}

function unreadable(encoding: Encoding, cause: Error): GabbroError {
  const message =
    encoding === "json"
      ? `The body cannot be read as OTLP JSON: ${cause.cause === NOT_JSON ? cause.message : "it is damaged"}.`
      : "The body cannot be read as OTLP protobuf: it is cut, damaged, or something else. Send JSON with Content-Type: application/json.";
  return new GabbroError("BAD_REQUEST", message, { cause });
}

/** Runs a reader; a damaged part is a problem of the span only. */
function readOrReject<Result>(reading: Reading, read: () => Result): Result | undefined {
  try {
    return read();
  } catch (error) {
    if (!isOfCaller(error)) throw error;
    addProblem(reading, "malformed", "is damaged");
    return undefined;
  }
}

interface Around {
  resource: OtlpAttributes;
  scope: OtlpScope;
  bytes: number;
  problem: Problem | null;
}

interface Steps<Raw, Checked> {
  read: (readers: Readers, slice: Slice, reading: Reading) => Raw;
  check: (raw: Raw, around: Around) => (Checked & { warnings: string[] }) | Problem;
}

function createDecoder<Raw, Checked>({ bytes, encoding }: Encoded, { read, check }: Steps<Raw, Checked>) {
  const readers = readersOf[encoding];
  const aroundOf = createAroundReader(bytes, readers);
  return (element: Element, index: number, size: number): (Checked & Decoded) | Rejection => {
    const around = aroundOf(element);
    const reading = newReading();
    if (around.problem) return { index, ...around.problem };
    const raw = readOrReject(reading, () => read(readers, element, reading));
    if (raw === undefined || reading.problem) return { index, ...reading.problem! };
    if (size + reading.addedBytes > MAX_SPAN_BYTES) return { index, ...LARGER };
    const checked = check(raw, around);
    if ("reason" in checked) return { index, ...checked };
    const replaced = reading.hasReplacedText ? [REPLACED] : [];
    const warnings = [...checked.warnings, ...replaced];
    return { ...checked, warnings, bytes: sizeOf(element) + around.bytes };
  };
}

const REPLACED = "has texts with characters that cannot be stored, which U+FFFD replaces";

/** Reads a resource once for all of its scopes, and a scope once for all of its spans. */
function createAroundReader(bytes: Buffer, { readResource, readScope }: Readers) {
  const resourceOf = createPartReader(bytes, readResource, {});
  const scopeOf = createPartReader(bytes, readScope, NO_SCOPE);
  return ({ resource, scope }: Element): Around => {
    const size = sizeOf(resource) + sizeOf(scope);
    if (size > MAX_RESOURCE_BYTES) return { resource: {}, scope: NO_SCOPE, bytes: size, problem: TOO_LARGE };
    const [ofResource, ofScope] = [resourceOf(resource), scopeOf(scope)];
    const problem = ofResource.problem ?? ofScope.problem;
    return { resource: ofResource.part, scope: ofScope.part, bytes: size, problem };
  };
}

const NO_SCOPE: OtlpScope = { name: null, version: null, attributes: {} };
const TOO_LARGE: Problem = {
  code: "too_large",
  reason: `has a resource and a scope of more than ${MAX_RESOURCE_BYTES / 1024} kB`,
};

/** Reads a part of a request unless it is the one that was read last: elements that share it stand together. */
function createPartReader<Part>(
  bytes: Buffer,
  read: (bytes: Buffer, slice: Slice, reading: Reading) => Part,
  none: Part,
) {
  let last: { slice: Slice | null; part: Part; problem: Problem | null } | undefined;
  return (slice: Slice | null) => {
    if (last?.slice === slice) return last;
    const reading = newReading();
    const part = slice ? readOrReject(reading, () => read(bytes, slice, reading)) : none;
    last = { slice, part: part ?? none, problem: reading.problem };
    return last;
  };
}

const sizeOf = (slice: Slice | null) => (slice ? slice.end - slice.start : 0);
