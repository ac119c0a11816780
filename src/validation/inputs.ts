import { z } from "zod";
import type { Fault } from "../errors.ts";

/** How many levels deep a value may be nested that is kept. */
export const MAX_JSON_DEPTH = 100;

// A fault is read behind its path: "values is required", "variables.0.label must be a string".
z.config({ customError: (issue) => faultMessage(issue) });

/**
 * The first check of what has a length: once its type is wrong, no other looks at it. zod (4.6) measures whatever has a
 * `length`, also in place of a string or a list, and throws when what it finds there is no number.
 */
const onlyOfItsType = {
  when: (payload: z.core.ParsePayload): boolean => {
    payload.aborted = payload.issues.length > 0;
    return false;
  },
};
const always = () => true;

/** A list of anything, which may be given bounds. */
const arrayOf = <Item extends z.ZodType>(item: Item) => z.array(item).refine(always, onlyOfItsType);

/** A string that every database can keep: no NUL character, no half of a surrogate pair. */
export const text = () =>
  z
    .string()
    .refine(always, onlyOfItsType)
    .superRefine((value, context) => {
      const message = textFault(value);
      if (message) context.addIssue({ code: "custom", message });
    });

/** As long as a path may be. The ORM takes time for each character of a text that it looks up: 8 s for 10 MB. */
const MAX_LOOKUP_CHARACTERS = 16_384;

/** Text by which something is looked up. */
export const lookUpText = () => text().max(MAX_LOOKUP_CHARACTERS);

/** Text in which the empty string means the same as null and absent: one published client sends it so. */
export const textOrNothing = (given = text()) => given.nullish().transform((value) => value || null);

/** An id that this service gave to something; `kind` says of what, for the sentence that refuses another. */
export const idOf = (kind: string) => z.guid({ error: `must be the id of ${kind}` }).toLowerCase();

const SLUG = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/;
const LONGEST_SLUG = 128;

/** The slug of something new; slugs that are only looked up may be any text. */
export const newSlug = () =>
  text().max(LONGEST_SLUG).regex(SLUG, {
    error: "must be lower-case letters and digits, with single - or _ between, such as country-guide",
  });

/** Any JSON value but null, up to 100 levels deep. */
export const json = () =>
  z.unknown().superRefine((value, context) => {
    if (value === undefined) context.addIssue({ code: "custom", message: "is required" });
    else if (value === null) context.addIssue({ code: "custom", message: "must not be null" });
    else addJsonFault(value, context);
  });

/** Any JSON value up to 100 levels deep; absent is null. */
export const jsonOrNothing = () =>
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
export const jsonObjectOrNothing = () =>
  jsonObjectOrUndefined()
    .transform((value) => value ?? null)
    .meta({ type: ["object", "null"], additionalProperties: {} });

/** A JSON object or null, where absent means something else than null. */
export const jsonObjectOrUndefined = () =>
  z
    .custom<JsonObject | null | undefined>((value) => value == null || isObject(value), {
      error: objectFault("an object or null"),
    })
    .superRefine(addJsonFault)
    .optional()
    .meta({ type: ["object", "null"], additionalProperties: {} });

/** A list of at most `most` items; a longer one is refused before its items are looked at, which could take long. */
export const list = <Item extends z.ZodType>(item: Item, most: number) => {
  const items = arrayOf(item).max(most);
  const { $schema: _, ...schema } = z.toJSONSchema(items, { io: "input", unrepresentable: "any" });
  const refuseLong = (value: unknown, context: z.RefinementCtx) => {
    if (!Array.isArray(value) || value.length <= most) return value;
    context.addIssue({ code: "custom", message: `must have at most ${most} items` });
    return z.NEVER;
  };
  return z.preprocess(refuseLong, items).meta(schema);
};

export type JsonObject = Record<string, unknown>;

export const INEXACT = "is a whole number too large to be kept exactly; send it as a text";

const WHOLE_NUMBER = /^(-?\d+)(?:\.0*)?$/;

/**
 * Whether a whole number, as it was written, becomes another one when JavaScript reads it and writes it again. Fractions
 * and exponents are approximate by their nature.
 */
export function isInexact(source: string): boolean {
  const whole = WHOLE_NUMBER.exec(source)?.[1];
  if (whole === undefined) return false;
  const read = Number(whole);
  if (Number.isSafeInteger(read)) return false;
  return !Number.isFinite(read) || (BigInt(whole) !== BigInt(read) && String(read) !== whole);
}

function textFault(value: string): string | undefined {
  if (value.includes("\0")) return "must not contain the character NUL (U+0000)";
  if (!value.isWellFormed()) return "must not contain half of a surrogate pair (a lone surrogate)";
  return undefined;
}

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

const expectedNames: Record<string, string> = {
  string: "a string",
  number: "a number",
  int: "a whole number",
  object: "an object",
  array: "a list",
  boolean: "true or false",
  date: "a time",
};

function faultMessage(issue: Parameters<z.core.$ZodErrorMap>[0]): string | undefined {
  if (issue.code === "invalid_type") {
    if (issue.input === undefined) return "is required";
    if (typeof issue.input === "number" && issue.expected === "number") return "must be a finite number";
    return `must be ${expectedNames[issue.expected] ?? issue.expected}`;
  }
  if (issue.code === "too_small") {
    return issue.origin === "string" && issue.minimum === 1
      ? "must not be empty"
      : `must be at least ${issue.minimum}`;
  }
  if (issue.code === "too_big") {
    return issue.origin === "string"
      ? `must have at most ${issue.maximum} characters`
      : `must be at most ${issue.maximum}`;
  }
  if (issue.code === "invalid_value") return `must be one of ${issue.values.join(", ")}`;
  return undefined;
}

const MOST_FAULTS = 100;
const MOST_STEPS = 10;
const LONGEST_STEP = 100;
const MAX_PATH_CHARACTERS = 200;

/**
 * What a schema found wrong, each fault with its path as dotted steps; paths begin within the member `within`, if they
 * lead there, and are cut where they grow absurd. Of very many faults the first hundred are told.
 */
export function faultsOf(issues: readonly StandardIssue[], within?: string): Fault[] {
  return issues.slice(0, MOST_FAULTS).map(({ message, path = [] }) => {
    const all = path.map((step) => String(typeof step === "object" ? step.key : step).slice(0, LONGEST_STEP));
    const steps = all[0] === within ? all.slice(1) : all;
    const cut = steps.length > MOST_STEPS ? [...steps.slice(0, MOST_STEPS), "…"] : steps;
    return { path: cut.join(".").slice(0, MAX_PATH_CHARACTERS), message };
  });
}

/** An issue as every Standard Schema library reports it, zod among them. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}
