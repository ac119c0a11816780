import {
  addProblem,
  mayRead,
  type Reading,
  setAttribute,
  storableInteger,
  storableNumber,
  storableText,
} from "./attributes.ts";
import type { OtlpAttributes } from "./span.ts";

export type JsonMembers = Record<string, unknown>;

export function membersOf(value: unknown): JsonMembers | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonMembers) : null;
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

/** A member that holds a list; absent and null are empty. */
export function listOf(value: unknown, name: string, reading: Reading): unknown[] {
  if (Array.isArray(value)) return value;
  if (isPresent(value)) addProblem(reading, "malformed", `has a member "${name}" that is not a list`);
  return [];
}

export function textOf(value: unknown, reading: Reading): string {
  return typeof value === "string" ? storableText(value, reading) : "";
}

/** A list of KeyValue as an object. */
export function attributesOf(value: unknown, name: string, reading: Reading, depth = 1): OtlpAttributes {
  const attributes: OtlpAttributes = {};
  for (const item of listOf(value, name, reading)) {
    if (reading.problem) break;
    const pair = membersOf(item);
    if (typeof pair?.key !== "string") {
      addProblem(reading, "malformed", `has an item of "${name}" without a key`);
      break;
    }
    const key = storableText(pair.key, reading);
    setAttribute(attributes, key, anyValueOf(pair.value, reading, depth), reading);
  }
  return attributes;
}

/** The value of an AnyValue; null when it is empty. A member that is null counts as absent. */
export function anyValueOf(value: unknown, reading: Reading, depth: number): unknown {
  const any = membersOf(value);
  if (!mayRead(reading, depth) || !any) return null;
  if (typeof any.stringValue === "string") return storableText(any.stringValue, reading);
  if (typeof any.boolValue === "boolean") return any.boolValue;
  if (isPresent(any.intValue)) return integerOf(any.intValue, reading);
  if (isPresent(any.doubleValue)) return doubleOf(any.doubleValue, reading);
  if (typeof any.bytesValue === "string") return Buffer.from(any.bytesValue, "base64").toString("base64");
  const list = membersOf(any.arrayValue);
  if (list) return listOf(list.values, "values", reading).map((item) => anyValueOf(item, reading, depth + 1));
  const object = membersOf(any.kvlistValue);
  if (object) return attributesOf(object.values, "values", reading, depth + 1);
  return null;
}

const INTEGER = /^-?\d{1,20}$/;
const DOUBLE = /^(?:-?\d{1,400}(?:\.\d{0,400})?(?:[eE][+-]?\d{1,4})?|-?Infinity|NaN)$/;

function integerOf(value: unknown, reading: Reading): unknown {
  if (typeof value === "number" && Number.isInteger(value)) return storableInteger(BigInt(value));
  if (typeof value === "string" && INTEGER.test(value)) return storableInteger(BigInt(value));
  addProblem(reading, "malformed", 'has an "intValue" that is not a whole number');
  return null;
}

function doubleOf(value: unknown, reading: Reading): unknown {
  if (typeof value === "number") return storableNumber(value);
  if (typeof value === "string" && DOUBLE.test(value)) return storableNumber(Number(value));
  addProblem(reading, "malformed", 'has a "doubleValue" that is not a number');
  return null;
}

const NANOS = /^\d{1,20}$/;

/** Nanoseconds; null when absent, -1 when they are not a whole number. */
export function nanosOf(value: unknown): bigint | null {
  if (!isPresent(value)) return null;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return BigInt(value);
  return typeof value === "string" && NANOS.test(value) ? BigInt(value) : -1n;
}

/** Enumerations and flags are whole numbers, never names. */
export function numberOf(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) ? value : 0;
}

const MAX_ID_CHARACTERS = 128;

export function idOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, MAX_ID_CHARACTERS).toLowerCase() : "";
}
