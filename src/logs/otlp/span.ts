/** Attributes by key: texts, booleans, numbers, lists and objects of these. Bytes are base64, unsafe integers decimal texts. */
export type OtlpAttributes = Record<string, unknown>;

/** What recorded a span: a library of instrumentation. */
export interface OtlpScope {
  name: string | null;
  version: string | null;
  attributes: OtlpAttributes;
}

/** Something that happened at a time within a span. */
export interface OtlpEvent {
  name: string;
  /** ISO 8601 in UTC, to the millisecond; null when the sender gives no time. */
  time: string | null;
  attributes: OtlpAttributes;
}

/** A span of another trace, or elsewhere in this one, that a span names. */
export interface OtlpLink {
  /** Hexadecimal, as the ids of a span. */
  traceId: string;
  spanId: string;
  traceState: string | null;
  attributes: OtlpAttributes;
}

/** A span of OpenTelemetry as it was sent, before the mapping. Protobuf and JSON decode to the same. */
export interface OtlpSpan {
  /** 32 hexadecimal digits in lower case. */
  traceId: string;
  /** 16 hexadecimal digits in lower case. */
  spanId: string;
  /** 16 hexadecimal digits in lower case; null for the root of a trace. */
  parentSpanId: string | null;
  /** The parent is a span of another service: this one is the root of its own service. */
  hasRemoteParent: boolean;
  /** May be empty. */
  name: string;
  kind: OtlpKind;
  startTime: Date;
  /** Null when the span has no end, or one before its start. */
  endTime: Date | null;
  /** The same times in nanoseconds since 1970, as decimal texts. */
  startNanos: string;
  endNanos: string | null;
  attributes: OtlpAttributes;
  events: OtlpEvent[];
  links: OtlpLink[];
  status: "ok" | "error" | null;
  statusMessage: string | null;
  traceState: string | null;
  /** The attributes of the program that sent it. Spans of one request share the object: do not change it. */
  resource: OtlpAttributes;
  /** Shared like the resource. */
  scope: OtlpScope;
}

/** An event of GenAI, such as a message to a model, within a span. */
export interface LogRecord extends Pick<OtlpSpan, "traceId" | "spanId" | "resource" | "scope"> {
  name: string;
  nanos: bigint;
  body: unknown;
  attributes: OtlpAttributes;
}

export type OtlpKind = "unspecified" | "internal" | "server" | "client" | "producer" | "consumer";
