import { isNumber, MAX_HASHED_CHARACTERS } from "../../limits/jsonSize.ts";
import { setMember } from "../../limits/members.ts";
import { MAX_JSON_DEPTH } from "../../validation/json.ts";
import { withoutNul } from "../withoutNul.ts";
import { MAX_FIELDS, MAX_VALUES } from "./bounds.ts";
import type { Problem } from "./decoded.ts";
import type { OtlpAttributes } from "./span.ts";

/** What the readers of one span share: how many values it may still have, and what they found. */
export interface Reading {
  valuesLeft: number;
  /** Of protobuf, which may repeat any field of a message. */
  fieldsLeft: number;
  /** The first that makes the span unusable. */
  problem: Problem | null;
  /** A text had the character U+0000, which PostgreSQL cannot store, or half of a surrogate pair. */
  hasReplacedText: boolean;
  /** By how much texts are longer than they came, as U+FFFD takes three bytes and replaces one that is not UTF-8. */
  addedBytes: number;
}

export const newReading = (): Reading => ({
  valuesLeft: MAX_VALUES,
  fieldsLeft: MAX_FIELDS,
  problem: null,
  hasReplacedText: false,
  addedBytes: 0,
});

export function addProblem(reading: Reading, code: Problem["code"], reason: string): void {
  reading.problem ??= { code, reason };
}

export const TOO_MANY_VALUES = `has more than ${MAX_VALUES} values`;

export const LONG_NAME = `has a name or a key of more than ${MAX_HASHED_CHARACTERS} characters`;

/** Counts a value at a depth; false when the span has too many values, or this one is nested too deep. */
export function mayRead(reading: Reading, depth: number): boolean {
  reading.valuesLeft -= 1;
  if (reading.valuesLeft < 0) addProblem(reading, "too_large", TOO_MANY_VALUES);
  if (depth > MAX_JSON_DEPTH)
    addProblem(reading, "too_deep", `has a value that is nested deeper than ${MAX_JSON_DEPTH} levels`);
  return reading.problem === null;
}

/** Counts a field of protobuf; false when the span has too many. */
export function mayReadField(reading: Reading): boolean {
  reading.fieldsLeft -= 1;
  if (reading.fieldsLeft >= 0) return true;
  addProblem(reading, "too_large", `has more than ${MAX_FIELDS} fields`);
  return false;
}

/**
 * Sets a member, which counts as two values, one whose name is a number as three: an object of 50,000 such members is copied and
 * written in 0.3 s. Assigning to the key `__proto__` would set the prototype.
 */
export function setAttribute(target: OtlpAttributes, key: string, value: unknown, reading: Reading): void {
  reading.valuesLeft -= isNumber(key) ? 2 : 1;
  if (key.length > MAX_HASHED_CHARACTERS) addProblem(reading, "too_large", LONG_NAME);
  else setMember(target, key, value);
}

/** The text with U+FFFD for what no database stores. */
export function storableText(text: string, reading: Reading): string {
  if (!text.includes("\0") && text.isWellFormed()) return text;
  reading.hasReplacedText = true;
  return withoutNul(text);
}

/** JSON has neither infinite numbers nor NaN nor -0. */
export function storableNumber(value: number): number | string {
  return Number.isFinite(value) ? value + 0 : String(value);
}

/** A number when it is exact, else its decimal digits. */
export function storableInteger(value: bigint): number | string {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value.toString();
}
