import { isObject } from "../formats/rows.ts";
import { parseForeignJson } from "./records.ts";

/** Reading what another product wrote, of which nothing is certain. */

export function textIn(value: Record<string, unknown>, ...names: string[]): string | undefined {
  for (const name of names) {
    const found = value[name];
    if (typeof found === "string" && found !== "") return found;
    if (typeof found === "number") return String(found);
  }
  return undefined;
}

export function objectIn(value: Record<string, unknown>, name: string): Record<string, unknown> | undefined {
  const found = value[name];
  return isObject(found) ? found : undefined;
}

export function textsIn(value: Record<string, unknown>, name: string): string[] {
  const found = value[name];
  return Array.isArray(found) ? found.filter((each) => typeof each === "string") : [];
}

export function listIn(value: Record<string, unknown>, name: string): Record<string, unknown>[] {
  const found = value[name];
  return Array.isArray(found) ? found.filter(isObject) : [];
}

/** A value that the source may have as a text of JSON; undefined where the text is none. */
export function parsed(value: unknown): unknown {
  if (typeof value !== "string") return value;
  try {
    return parseForeignJson(value);
  } catch {
    return undefined;
  }
}

/** An object with its names in camel case, as `trace_id` and `traceId` are the same. Values stay as they are. */
export function camelCased(value: Record<string, unknown>): Record<string, unknown> {
  const camel = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [camel(name), member]));
}

/** What a row of a dataset is made of: the members of an object are its values, anything else is one value. */
export function toValues(input: unknown, column = "input"): Record<string, unknown> {
  if (isObject(input)) return input;
  return input === undefined || input === null ? {} : { [column]: input };
}

/** The ideal output of a row is a text. */
export function toIdealOutput(expected: unknown): string | null {
  if (expected === undefined || expected === null) return null;
  return typeof expected === "string" ? expected : JSON.stringify(expected);
}

/** The ideal output of a row whose output is an object: the text of its only member, or all of it as JSON. */
export function toIdealOutputOf(output: unknown): { idealOutput: string | null; outputKey?: string } {
  if (!isObject(output)) return { idealOutput: toIdealOutput(output) };
  const [only, ...others] = Object.entries(output);
  if (!only) return { idealOutput: null };
  const [outputKey, text] = only;
  return others.length === 0 && typeof text === "string"
    ? { idealOutput: text, outputKey }
    : { idealOutput: JSON.stringify(output) };
}

/** The metadata of a row, with what the source knows of it beside. */
export function toMetadata(metadata: unknown, source: Record<string, unknown>): Record<string, unknown> {
  const own = isObject(metadata) ? metadata : metadata === undefined || metadata === null ? {} : { metadata };
  const known = Object.entries(source).filter(([, value]) => value !== undefined && value !== null);
  return { ...own, source: Object.fromEntries(known) };
}

/** The model of a prompt version, of settings that name it beside its parameters. */
export function toModel(settings: Record<string, unknown>, provider?: string) {
  const { model, provider: named, ...parameters } = settings;
  if (typeof model !== "string" || model === "") return undefined;
  return { provider: provider ?? (typeof named === "string" ? named : undefined), model, parameters };
}
