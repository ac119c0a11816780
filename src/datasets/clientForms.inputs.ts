import { checkJson, type JsonCounts } from "../validation/jsonLimits.ts";
import type { Warning } from "../warnings.ts";

/**
 * What published clients send in forms of their own, read where only one meaning is possible, such as objects and times as text. A
 * warning names each form that was read, unless it stands for nothing. The body is changed in place: each copy of 98,000 members
 * took 50 ms.
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

/** The body of a row or a single log, whose client may send `metadata` and times as text. */
export function readFlatForms(body: unknown): ClientForms {
  const reading = newReading();
  if (isObject(body)) readTexts(body, "", reading);
  return { body, warnings: reading.warnings };
}

const MAX_DIGITS = 16;

/** Reads `metadata` and times that are texts; `path` stands before their names in warnings. */
export function readTexts(object: Members, path: string, { warnings, counts }: Reading): void {
  const { metadata, startTime, endTime } = object;
  if (metadata === "") object.metadata = null;
  else if (typeof metadata === "string") {
    const parsed = parseObject(metadata, counts, `${path}metadata`);
    if (parsed) {
      object.metadata = parsed;
      warnings.push(converted(`${path}metadata`, "is an object written as text; it was read as the object"));
    }
  }
  for (const [name, time] of Object.entries({ startTime, endTime }))
    if (typeof time === "string" && time.length <= MAX_DIGITS && /^\d+$/.test(time)) {
      object[name] = Number(time);
      warnings.push(
        converted(`${path}${name}`, "is a number written as text; it was read as epoch milliseconds"),
      );
    }
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
