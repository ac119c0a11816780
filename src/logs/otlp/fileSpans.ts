import type { ReportedSpan } from "../reported.ts";
import { decodeSpans } from "./decode.ts";
import type { Rejection } from "./decoded.ts";
import { createLargeParts } from "./largeParts.ts";
import { mapSpan } from "./mapping.ts";

/** A span of a file as it is to be stored. */
export interface FileSpan {
  span: ReportedSpan;
  /** The length of its encoded form. */
  bytes: number;
}

/**
 * The spans of a request that stands in a file, in the JSON of OpenTelemetry, by the rules of `POST /v1/traces`. Throws
 * BAD_REQUEST when it cannot be read at all.
 */
export function* readFileSpans(json: string): Generator<FileSpan | Rejection> {
  const withoutRepeated = createLargeParts();
  for (const each of decodeSpans({ bytes: Buffer.from(json), encoding: "json" })) {
    if (each === null) continue;
    if ("reason" in each) yield each;
    else yield { span: withoutRepeated(each.span, mapSpan(each.span)).span, bytes: each.bytes };
  }
}
