import type { LogRecord, OtlpSpan } from "./span.ts";

/** Why a span or a log record is rejected; also the label of the metric that counts it. */
export type RejectionCode = "ids" | "log_record" | "start" | "too_large" | "too_deep" | "malformed";

export interface Problem {
  code: RejectionCode;
  /** The end of a sentence that begins with "span 3". */
  reason: string;
}

/** A span or a log record that is not stored; `index` counts those of the request from 0. */
export interface Rejection extends Problem {
  index: number;
}

export interface DecodedSpan extends Decoded {
  span: OtlpSpan;
}

export interface DecodedLogRecord extends Decoded {
  record: LogRecord;
}

export interface Decoded {
  /** The length of its encoded form, with the resource and the scope that are stored with it. */
  bytes: number;
  /** What was changed in it, as a sentence. */
  warnings: string[];
}

/** A part of the encoded request. */
export interface Slice {
  start: number;
  end: number;
}

/** The place of one span, log record or metric. Those of one resource share the object. */
export interface Element extends Slice {
  resource: Slice | null;
  scope: Slice | null;
}

/** Null where the work may pause. */
export type Elements = Generator<Element | null>;
