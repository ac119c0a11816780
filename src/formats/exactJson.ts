import type { ErrorDetail } from "../errors.ts";
import { MAX_BODY_DEPTH } from "../validation/jsonLimits.ts";
import { INEXACT, isInexact } from "../validation/numbers.ts";

declare global {
  interface JSON {
    rawJSON(source: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

const LONG_NUMBER = /\d{16}/;

/**
 * Parses JSON. Whole numbers that JavaScript would change are errors; the value holds them as raw JSON, so that it can be
 * written again unchanged.
 */
export function parseExactJson(text: string): { value: unknown; details: ErrorDetail[] } {
  if (!LONG_NUMBER.test(text)) return { value: JSON.parse(text), details: [] };
  const value = JSON.parse(text, keepInexact);
  return { value, details: inexactNumbers(value) };
}

/** The number of a text of JSON; raw JSON where JavaScript would change it. */
export function exactNumber(source: string): unknown {
  return isInexact(source) ? JSON.rawJSON(source) : Number(source);
}

function keepInexact(_: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" && context?.source ? exactNumber(context.source) : value;
}

export const TOO_DEEP = `must not be nested deeper than ${MAX_BODY_DEPTH} levels`;

/** The errors for numbers of a value that cannot be stored exactly, and for what is nested too deeply to look for them. */
export function inexactNumbers(value: unknown, path: string[] = []): ErrorDetail[] {
  if (typeof value !== "object" || value === null) return [];
  if (path.length >= MAX_BODY_DEPTH) return [{ path: "", message: TOO_DEEP }];
  if (JSON.isRawJSON(value)) return [{ path: path.join("."), message: INEXACT }];
  return Object.entries(value).flatMap(([key, inner]) => inexactNumbers(inner, [...path, key]));
}

/** Writes JSON of any depth: JSON.stringify exceeds the stack at some thousand levels. */
export function toDeepJson(root: unknown): string {
  const pieces: string[] = [];
  const pending: ({ text: string } | { value: unknown })[] = [{ value: root }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if ("text" in next) pieces.push(next.text);
    else if (typeof next.value !== "object" || next.value === null || JSON.isRawJSON(next.value))
      pieces.push(JSON.stringify(next.value));
    else {
      const isList = Array.isArray(next.value);
      pieces.push(isList ? "[" : "{");
      pending.push({ text: isList ? "]" : "}" });
      const parts = Object.entries(next.value).flatMap(([key, value], at) => [
        { text: `${at > 0 ? "," : ""}${isList ? "" : `${JSON.stringify(key)}:`}` },
        { value },
      ]);
      for (const part of parts.toReversed()) pending.push(part);
    }
  }
  return pieces.join("");
}
