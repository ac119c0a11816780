import type { ErrorDetail } from "../errors.ts";
import { INEXACT, isInexact } from "../validation/numbers.ts";

declare global {
  interface JSON {
    rawJSON(source: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

const LONG_NUMBER = /\d{16}/;

/**
 * Reads JSON. Whole numbers that JavaScript would change stay in it as they were written, so that the value can be
 * written again, and are errors.
 */
export function parseExactJson(text: string): { value: unknown; details: ErrorDetail[] } {
  if (!LONG_NUMBER.test(text)) return { value: JSON.parse(text), details: [] };
  const value = JSON.parse(text, keepInexact);
  return { value, details: inexactNumbers(value) };
}

/** A number as it was written. */
export function exactNumber(source: string): unknown {
  return isInexact(source) ? JSON.rawJSON(source) : Number(source);
}

function keepInexact(_: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === "number" && context?.source ? exactNumber(context.source) : value;
}

/** Where a value has numbers that cannot be kept exactly. */
export function inexactNumbers(value: unknown, path: string[] = []): ErrorDetail[] {
  if (typeof value !== "object" || value === null) return [];
  if (JSON.isRawJSON(value)) return [{ path: path.join("."), message: INEXACT }];
  return Object.entries(value).flatMap(([key, inner]) => inexactNumbers(inner, [...path, key]));
}
