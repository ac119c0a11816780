import { z } from "zod";
import "./messages.ts";
import { textFault } from "./text.ts";

/** How many levels deep a value may be nested that is kept. */
export const MAX_JSON_DEPTH = 100;

export type JsonObject = Record<string, unknown>;

/** Any JSON value but null, up to 100 levels deep. */
export const json = () =>
  z.unknown().superRefine((value, context) => {
    if (value === undefined) context.addIssue({ code: "custom", message: "is required" });
    else if (value === null) context.addIssue({ code: "custom", message: "must not be null" });
    else addJsonFault(value, context);
  });

/** Any JSON value up to 100 levels deep; absent is null. */
export const optionalJson = () =>
  z
    .unknown()
    .superRefine(addJsonFault)
    .optional()
    .transform((value) => value ?? null);

/** A JSON object with anything in it, up to 100 levels deep. */
export const jsonObject = () =>
  z
    .custom<JsonObject>(isObject, { error: objectFault("an object") })
    .superRefine(addJsonFault)
    .meta({ type: "object", additionalProperties: {} });

/** A JSON object; null and absent are null. */
export const optionalJsonObject = () =>
  nullableJsonObject()
    .transform((value) => value ?? null)
    .meta({ type: ["object", "null"], additionalProperties: {} });

/** A JSON object or null, where absent means something else than null. */
export const nullableJsonObject = () =>
  z
    .custom<JsonObject | null | undefined>((value) => value == null || isObject(value), {
      error: objectFault("an object or null"),
    })
    .superRefine(addJsonFault)
    .optional()
    .meta({ type: ["object", "null"], additionalProperties: {} });

function keyFault(key: string): string | undefined {
  const fault = key === "__proto__" ? 'must not be named "__proto__"' : textFault(key);
  return fault && `has a key that ${fault}`;
}

function addJsonFault(value: unknown, context: z.RefinementCtx) {
  const fault = jsonFault(value, 0);
  if (!fault) return;
  context.addIssue({ code: "custom", message: fault.message, path: fault.path.toReversed() });
}

/** Finds what no database could give back; its path stands in reverse, because it is built on the way out. */
function jsonFault(
  value: unknown,
  depth: number,
): { path: (string | number)[]; message: string } | undefined {
  if (typeof value === "string") return faultHere(textFault(value));
  if (typeof value === "number")
    return faultHere(Number.isFinite(value) ? undefined : "must be a finite number");
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === MAX_JSON_DEPTH) return faultHere(`must not be nested deeper than ${MAX_JSON_DEPTH} levels`);
  if (Array.isArray(value)) return faultInList(value, depth);
  return faultInObject(value as JsonObject, depth);
}

function faultInList(values: unknown[], depth: number) {
  for (let at = 0; at < values.length; at++) {
    const fault = jsonFault(values[at], depth + 1);
    if (!fault) continue;
    fault.path.push(at);
    return fault;
  }
  return undefined;
}

function faultInObject(value: JsonObject, depth: number) {
  for (const key of Object.keys(value)) {
    const message = keyFault(key);
    if (message) return faultHere(message);
    const fault = jsonFault(value[key], depth + 1);
    if (!fault) continue;
    fault.path.push(key);
    return fault;
  }
  return undefined;
}

function faultHere(message: string | undefined) {
  return message === undefined ? undefined : { path: [], message };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function objectFault(what: string) {
  return (issue: { input?: unknown }) => (issue.input === undefined ? "is required" : `must be ${what}`);
}
