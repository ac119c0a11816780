import { createHash } from "node:crypto";
import type { ReportedSpan } from "../reported.ts";
import type { OtlpSpan } from "./span.ts";

/** A smaller resource or scope is stored with each of its spans. */
const MAX_REPEATED_BYTES = 4 * 1024;
/** What large resources and scopes take when a request repeats them: a trace of one span has a copy of its own. */
const MAX_COPIED_BYTES = 4 * 1024 * 1024;

/** What was sent with others that share its resource and its scope. */
export type Sent = Pick<OtlpSpan, "traceId" | "resource" | "scope">;

interface Large {
  hash: string;
  bytes: number;
}

/**
 * Keeps a large resource or scope only with the first span of each trace of a request, and with less when there are many traces:
 * 64 kB that stand once in a request would be stored with each of 10,000 spans. Returns the warnings about what was left out.
 */
export function createLargeParts() {
  const measure = createMeasure();
  const kept = new Set<string>();
  let copied = 0;
  const isToKeep = ({ hash, bytes }: Large, traceId: string): boolean => {
    const key = `${hash} ${traceId}`;
    if (kept.has(key)) return false;
    if (kept.has(hash)) {
      if (copied + bytes > MAX_COPIED_BYTES) return false;
      copied += bytes;
    }
    kept.add(hash).add(key);
    return true;
  };
  return (sent: Sent, mapped: ReportedSpan): { span: ReportedSpan; warnings: string[] } => {
    const attributes = { ...mapped.log.attributes };
    const warnings: string[] = [];
    for (const name of ["resource", "scope"] as const) {
      const large = attributes[name] === undefined ? null : measure(sent[name]);
      if (!large || isToKeep(large, sent.traceId)) continue;
      delete attributes[name];
      warnings.push(`has a ${name} of more than 4 kB, which is stored with another span of the request`);
    }
    if (warnings.length === 0) return { span: mapped, warnings };
    const left = Object.keys(attributes).length > 0 ? attributes : null;
    return { span: { ...mapped, log: { ...mapped.log, attributes: left } }, warnings };
  };
}

/** Spans that stand together share the objects of their resource and scope, which are measured once. */
function createMeasure() {
  const known = new WeakMap<object, Large | null>();
  return (part: object): Large | null => {
    let large = known.get(part);
    if (large === undefined) {
      const json = JSON.stringify(part);
      const bytes = Buffer.byteLength(json);
      large =
        bytes > MAX_REPEATED_BYTES
          ? { hash: createHash("sha256").update(json).digest("base64"), bytes }
          : null;
      known.set(part, large);
    }
    return large;
  };
}
