import { isSlowToWrite } from "../../limits/jsonSize.ts";
import type { ReportedSpan } from "../reported.ts";
import { eventIdOf } from "../spanIds.ts";
import { problemOfId, problemOfTime, ZEROS } from "./checkSpan.ts";
import type { Problem } from "./decoded.ts";
import { mapSpan } from "./mapping.ts";
import type { LogRecord, OtlpAttributes, OtlpSpan } from "./span.ts";

/** A log record as either encoding has it. */
export interface RawLogRecord {
  /** Hexadecimal in lower case, of any length; empty when absent. */
  traceId: string;
  spanId: string;
  eventName: string;
  /** Null when absent or not a time. */
  timeNanos: bigint | null;
  observedNanos: bigint | null;
  body: unknown;
  attributes: OtlpAttributes;
}

const NOT_KEPT: Problem = {
  code: "log_record",
  reason: "is not an event of GenAI with the ids of its span",
};

/** The event when it is one of GenAI that names its span, else why it is not stored. */
export function checkLogRecord(
  raw: RawLogRecord,
  { resource, scope }: Pick<OtlpSpan, "resource" | "scope">,
): { record: LogRecord } | Problem {
  const { traceId, spanId, body, attributes } = raw;
  const name = raw.eventName || attributes["event.name"];
  if (typeof name !== "string" || !name.startsWith("gen_ai.")) return NOT_KEPT;
  if (ZEROS.test(traceId) || ZEROS.test(spanId)) return NOT_KEPT;
  const nanos = raw.timeNanos || raw.observedNanos;
  const problem =
    problemOfId("trace id", traceId) ?? problemOfId("span id", spanId) ?? problemOfTime("time", nanos);
  return problem ?? { record: { traceId, spanId, name, nanos: nanos!, body, attributes, resource, scope } };
}

const INPUTS = ["gen_ai.system.message", "gen_ai.user.message", "gen_ai.tool.message"];
const OUTPUTS = ["gen_ai.assistant.message", "gen_ai.choice"];
const NANOS_PER_MS = 1_000_000n;
const NO_VALUES = {
  ...{
    status: null,
    statusMessage: null,
    idealOutput: null,
    metadata: null,
    variables: null,
    evaluators: null,
  },
  ...{
    promptSlug: null,
    version: null,
    tag: null,
    provider: null,
    model: null,
    cost: null,
    responseId: null,
  },
  ...{ inputTokens: null, cacheReadTokens: null, cacheWriteTokens: null },
  ...{ outputTokens: null, reasoningTokens: null, timeToFirstTokenMs: null, events: null },
};

/** Reports an event as a step below its span. It has no usage: its span reports that of the call. */
export function mapLogRecord(record: LogRecord): ReportedSpan {
  const { traceId, spanId, name, nanos } = record;
  const span = toSpan(record);
  const { log, trace } = mapSpan(span);
  return {
    traceId,
    log: {
      ...NO_VALUES,
      externalId: span.spanId,
      parentExternalId: spanId,
      type: "event",
      name,
      startTime: span.startTime,
      endTime: span.startTime,
      ...contentOf(record, log),
      isInternal: false,
      attributes: toRaw(record, log.attributes),
    },
    startNanos: Number(nanos % NANOS_PER_MS),
    isRoot: false,
    trace,
    warnings: [],
  };
}

/** A message is its body; events with messages in their attributes have them where spans do. */
function contentOf({ name, body }: LogRecord, log: ReportedSpan["log"]) {
  if (INPUTS.includes(name)) return { input: body, output: null };
  if (OUTPUTS.includes(name)) return { input: null, output: body };
  return { input: log.input, output: log.output ?? body };
}

const bits = new DataView(new ArrayBuffer(8));

/** Tells one content from another. Where it may have many numbers that V8 takes 6 microseconds to write, it has their bits. */
const contentKey = (content: unknown): string =>
  JSON.stringify(content, isSlowToWrite(content) ? withBits : undefined);

function withBits(_: string, value: unknown): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
  bits.setFloat64(0, value);
  return bits.getBigUint64(0).toString(16);
}

/** A span at the time of the event, for the mapping to read its attributes. */
function toSpan({ traceId, spanId, name, nanos, body, attributes, resource, scope }: LogRecord): OtlpSpan {
  const time = new Date(Number(nanos / NANOS_PER_MS));
  return {
    ...{ traceId, name, attributes, resource, scope },
    spanId: eventIdOf([spanId, name, nanos.toString(), contentKey([body, attributes])]),
    parentSpanId: spanId,
    hasRemoteParent: false,
    kind: "unspecified",
    ...{ startTime: time, endTime: time, startNanos: nanos.toString(), endNanos: nanos.toString() },
    ...{ events: [], links: [], status: null, statusMessage: null, traceState: null },
  };
}

/** What a log keeps of its record as it came; `record` marks that it was no span. */
function toRaw({ name, body, attributes }: LogRecord, ofSpan: ReportedSpan["log"]["attributes"]) {
  const { resource, scope } = ofSpan ?? {};
  const around = { ...(resource !== undefined && { resource }), ...(scope !== undefined && { scope }) };
  return { record: { eventName: name, body, attributes }, ...around };
}
