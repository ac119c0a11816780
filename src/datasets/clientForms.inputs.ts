import { checkJson, type JsonCounts } from "../validation/jsonLimits.ts";
import type { Warning } from "../warnings.ts";

/**
 * What published clients send in forms of their own, read where only one meaning is possible, such as objects as text. A warning
 * names each form that was read, unless it stands for nothing. The body is changed in place: each copy of 98,000 members took 50 ms.
 */
export interface ClientForms {
  body: unknown;
  warnings: Warning[];
}

export type Members = Record<string, unknown>;

/** A body while its forms are read. */
export interface Reading {
  warnings: Warning[];
  /** Of all objects that are written as text. */
  counts: JsonCounts;
}

export const newReading = (): Reading => ({ warnings: [], counts: { values: 0, members: 0 } });

export const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The body of a row, whose client may send `metadata` as text. */
export function readRowForms(body: unknown): ClientForms {
  const reading = newReading();
  if (isObject(body)) readMetadata(body, "", reading);
  return { body, warnings: reading.warnings };
}

/** Reads `metadata` that is a text; `path` stands before its name in the warning. */
export function readMetadata(object: Members, path: string, { warnings, counts }: Reading): void {
  const { metadata } = object;
  if (metadata === "") object.metadata = null;
  if (typeof metadata !== "string" || metadata === "") return;
  const parsed = parseObject(metadata, counts, `${path}metadata`);
  if (!parsed) return;
  object.metadata = parsed;
  warnings.push(converted(`${path}metadata`, "is an object written as text; it was read as the object"));
}

/** Throws BAD_INPUT when the object, or it with those of the body before, would be refused in a body of its own. */
function parseObject(text: string, counts: JsonCounts, path: string): Members | undefined {
  if (!text.trimStart().startsWith("{")) return undefined;
  checkJson(text, counts, path);
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined; // the validation of the body refuses it with its path
  }
}

/** The warning for a value in another form than documented. */
export function converted(path: string, what: string): Warning {
  return { code: "FORM_CONVERTED", message: `${path} ${what}.`, path };
}
