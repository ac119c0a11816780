import { z } from "zod";
import { countMembers } from "../limits/jsonSize.ts";
import "./messages.ts";
import { textError, WITHOUT_NUL } from "./text.ts";

/** The deepest nesting of stored values. */
export const MAX_JSON_DEPTH = 100;

export type JsonObject = Record<string, unknown>;

const PATTERN = WITHOUT_NUL.source;
const anyValue = { $ref: "#/components/schemas/JsonValue" };
const ANY_MEMBERS = {
  propertyNames: { pattern: PATTERN, not: { const: "__proto__" } },
  additionalProperties: anyValue,
};

/** What OpenAPI says of any JSON; its levels and the spelling of numbers cannot be described by a schema. */
export const jsonValueSchema = {
  description: `Any JSON, up to ${MAX_JSON_DEPTH} levels deep. A whole number that a double cannot hold exactly, such as 9007199254740993, is refused: send it as a text.`,
  anyOf: [
    { type: ["null", "boolean", "number"] },
    { type: "string", pattern: PATTERN },
    { type: "array", items: anyValue },
    { type: "object", ...ANY_MEMBERS },
  ],
};

/** Any JSON value but null, up to 100 levels deep. */
export const json = () =>
  z
    .unknown()
    .superRefine((value, context) => {
      if (value === undefined) context.addIssue({ code: "custom", message: "is required" });
      else if (value === null) context.addIssue({ code: "custom", message: "must not be null" });
      else addJsonError(value, context);
    })
    .meta({ allOf: [anyValue], not: { type: "null" } });

/** Any JSON value up to 100 levels deep; absent is null. */
export const optionalJson = () =>
  z
    .unknown()
    .superRefine(addJsonError)
    .optional()
    .transform((value) => value ?? null)
    .meta({ allOf: [anyValue] });

/** A JSON object with anything in it, up to 100 levels deep. */
export const jsonObject = () =>
  z
    .custom<JsonObject>(isObject, { error: objectError("an object") })
    .superRefine(addJsonError)
    .meta({ type: "object", ...ANY_MEMBERS });

/** A JSON object, with at most so many members at all depths; null and absent are null. */
export const optionalJsonObject = (maxMembers?: number) =>
  nullableJsonObject(maxMembers)
    .transform((value) => value ?? null)
    .meta({ type: ["object", "null"], ...ANY_MEMBERS });

/** A JSON object or null; absent stays undefined, which is not the same as null. */
export const nullableJsonObject = (maxMembers?: number) =>
  z
    .custom<JsonObject | null | undefined>((value) => value == null || isObject(value), {
      error: objectError("an object or null"),
    })
    .superRefine((value, context) => addJsonError(value, context, maxMembers))
    .optional()
    .meta({ type: ["object", "null"], ...ANY_MEMBERS });

function keyError(key: string): string | undefined {
  const detail = key === "__proto__" ? 'must not be named "__proto__"' : textError(key);
  return detail && `has a key that ${detail}`;
}

function addJsonError(value: unknown, context: z.RefinementCtx, maxMembers?: number) {
  const detail = membersError(value, maxMembers) ?? jsonError(value, 0);
  if (!detail) return;
  context.addIssue({ code: "custom", message: detail.message, path: detail.path.toReversed() });
}

function membersError(value: unknown, max?: number) {
  if (max === undefined || countMembers(value, max) <= max) return undefined;
  return errorHere(`must have at most ${max.toLocaleString("en")} members at all depths`);
}

/** The first part of a value that no database can return; its path is in reverse, as it is built on the way out. */
function jsonError(
  value: unknown,
  depth: number,
): { path: (string | number)[]; message: string } | undefined {
  if (typeof value === "string") return errorHere(textError(value));
  if (typeof value === "number")
    return errorHere(Number.isFinite(value) ? undefined : "must be a finite number");
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === MAX_JSON_DEPTH) return errorHere(`must not be nested deeper than ${MAX_JSON_DEPTH} levels`);
  if (Array.isArray(value)) return errorInList(value, depth);
  return errorInObject(value as JsonObject, depth);
}

function errorInList(values: unknown[], depth: number) {
  for (let at = 0; at < values.length; at++) {
    const detail = jsonError(values[at], depth + 1);
    if (!detail) continue;
    detail.path.push(at);
    return detail;
  }
  return undefined;
}

function errorInObject(value: JsonObject, depth: number) {
  for (const key of Object.keys(value)) {
    const message = keyError(key);
    if (message) return errorHere(message);
    const detail = jsonError(value[key], depth + 1);
    if (!detail) continue;
    detail.path.push(key);
    return detail;
  }
  return undefined;
}

function errorHere(message: string | undefined) {
  return message === undefined ? undefined : { path: [], message };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectError(what: string) {
  return (issue: { input?: unknown }) => (issue.input === undefined ? "is required" : `must be ${what}`);
}
