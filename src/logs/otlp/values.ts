import { isSlowToWrite, MAX_HASHED_CHARACTERS } from "../../limits/jsonSize.ts";
import { objectOf } from "../../limits/members.ts";
import type { Source } from "./source.ts";
import type { OtlpSpan } from "./span.ts";

/** Each takes a value as a sender may write it, and returns undefined for what is not of its kind. */

/** A text; also a number or a boolean, as a text. */
export function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : undefined;
}

/** A number, also one that is written as a text. */
export function toNumber(value: unknown): number | undefined {
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : undefined;
}

/** Whole and not negative. */
export function toCount(value: unknown): number | undefined {
  const number = toNumber(value);
  return number !== undefined && Number.isSafeInteger(number) && number >= 0 ? number : undefined;
}

export function toAmount(value: unknown): number | undefined {
  const number = toNumber(value);
  return number !== undefined && number >= 0 ? number : undefined;
}

/** A share, from 0 to 1. */
export function toShare(value: unknown): number | undefined {
  const number = toNumber(value);
  return number !== undefined && number >= 0 && number <= 1 ? number : undefined;
}

export function toObject(value: unknown): Record<string, unknown> | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return objectOf(Object.entries(value));
}

/** Anything. */
export const toContent = (value: unknown): unknown => value;

/** The slugs of a list of texts or of objects with a slug. */
export function toSlugs(value: unknown): { slug: string }[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const slugs = value.flatMap((entry) => toText(toObject(entry)?.slug ?? entry) ?? []);
  return slugs.length === 0 ? undefined : slugs.map((slug) => ({ slug }));
}

/** Variables from an object of values by label, or a list of objects with label (or name) and value; those with a long label are left out. */
export function toVariables(value: unknown): { label: string; value: string | null }[] | undefined {
  const variables = Array.isArray(value) ? value.flatMap(toVariable) : toObject(value);
  if (variables === undefined || Array.isArray(variables)) return variables?.length ? variables : undefined;
  const entries = Object.entries(variables);
  return entries.length === 0
    ? undefined
    : entries.map(([label, held]) => ({ label, value: toVariableText(held) }));
}

function toVariable(entry: unknown): { label: string; value: string | null }[] {
  const members = toObject(entry);
  const label = toText(members?.label ?? members?.name ?? members?.key);
  return members && label !== undefined && label.length <= MAX_HASHED_CHARACTERS
    ? [{ label, value: toVariableText(members.value) }]
    : [];
}

/** Null for what takes long to write, which the attributes of the span keep. */
function toVariableText(value: unknown): string | null {
  if (typeof value === "string") return value;
  return value === undefined || value === null || isSlowToWrite(value) ? null : JSON.stringify(value);
}

/** `Date.parse` of 9.8 MB takes a tenth of a second. */
const MAX_TIME_CHARACTERS = 64;

/** A duration in milliseconds, or a time as the duration from the span's start to it. */
export function toMilliseconds(value: unknown, source: Source, { startTime }: OtlpSpan): number | undefined {
  const unit = "unit" in source ? source.unit : undefined;
  if (unit !== "time") {
    const duration = toAmount(value);
    return duration !== undefined && unit === "seconds" ? toAmount(duration * 1000) : duration;
  }
  const isShort = typeof value === "string" && value.length <= MAX_TIME_CHARACTERS;
  const duration = isShort ? Date.parse(value) - startTime.getTime() : Number.NaN;
  return duration >= 0 ? duration : undefined;
}
