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

/** The errors for numbers of a value that cannot be stored exactly. */
export function inexactNumbers(value: unknown, path: string[] = []): ErrorDetail[] {
  if (typeof value !== "object" || value === null) return [];
  if (JSON.isRawJSON(value)) return [{ path: path.join("."), message: INEXACT }];
  return Object.entries(value).flatMap(([key, inner]) => inexactNumbers(inner, [...path, key]));
}
