import type { ReportedType } from "../reported.ts";
import { NOT_JSON, parseJson, parseStructure } from "./jsonTexts.ts";
import { joinInstructions, readBelow, readEvents, readList } from "./messages.ts";
import type { Field, Source, SpanCondition } from "./source.ts";
import type { OtlpSpan } from "./span.ts";

/** A span while it is mapped. */
export interface Reading {
  span: OtlpSpan;
  type: ReportedType;
  isRoot: boolean;
  /** Sentences, each once. */
  warnings: Set<string>;
}

/** A value with the source that held it. */
export interface Found<T> {
  value: T;
  source: Source;
}

/** The value of a field with the source that gives it; null when none does. */
export function find<T>(reading: Reading, field: Field<T>): Found<T> | null {
  for (const source of field.from) {
    if (source.for && !meets(reading, source.for)) continue;
    const read = readSource(reading, source);
    if (read === undefined || read === null || read === "") continue;
    const value = field.accept(read, source, reading.span);
    if (value !== undefined) return { value, source };
  }
  return null;
}

/** The value of a field; null when no source gives it. */
export const readField = <T>(reading: Reading, field: Field<T>): T | null =>
  find(reading, field)?.value ?? null;

/** What each source of a field gives. */
export const findAll = <T>(reading: Reading, field: Field<T>): Found<T>[] =>
  field.from.flatMap((source) => find(reading, { ...field, from: [source] }) ?? []);

function meets({ span, type, isRoot }: Reading, condition: SpanCondition): boolean {
  if (condition === "root") return isRoot;
  if (condition === "modelCall") return type === "generation" || type === "embedding";
  if (condition === "outer") return !String(span.attributes["ai.operationId"]).includes(".do");
  return type === condition;
}

function readSource(reading: Reading, source: Source): unknown {
  const { attributes, resource, events } = reading.span;
  if ("resource" in source) return resource[source.resource];
  if ("list" in source) return readList(attributes, source.list);
  if ("below" in source) return readBelow(attributes, source.below);
  if ("events" in source) return readEvents(events, source.events);
  if ("parts" in source) return readParts(reading, source.parts);
  if ("instructions" in source)
    return joinInstructions(
      structureOf(attributes[source.instructions]),
      structureOf(attributes[source.messages]),
    );
  if ("event" in source)
    return structureOf(events.find(({ name }) => name === source.event)?.attributes[source.attribute]);
  if ("member" in source) return memberOf(structureOf(attributes[source.attribute]), source.member);
  return readAttribute(reading, source);
}

function readAttribute(reading: Reading, source: Extract<Source, { json?: unknown }>): unknown {
  const value = reading.span.attributes[source.attribute];
  const isJson = source.json === "always" || (source.json === "basalt" && isFromBasaltJs(reading.span));
  if (isJson) return parseAlways(reading, source.attribute, value);
  if (typeof value !== "string") return value;
  if (source.beforeDot) return value.split(".", 1)[0];
  return parseStructure(value, source.json === "quoted" ? '{["' : "{[");
}

/** Parses what the sender encodes as JSON. A text that was cut on the way is kept as it is. */
function parseAlways(reading: Reading, key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => parseAlways(reading, key, entry));
  if (typeof value !== "string" || value === "") return value;
  const parsed = parseJson(value);
  if (parsed !== NOT_JSON) return parsed;
  reading.warnings.add(`The attribute "${key}" is not complete JSON. Gabbro keeps it as a text.`);
  return value;
}

/** The parts that are there, or the only one as it is. */
function readParts(reading: Reading, parts: Record<string, string>): unknown {
  const found = Object.entries(parts).flatMap(([name, attribute]) => {
    const value = readAttribute(reading, { attribute });
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return found.length === 1 ? found[0]![1] : found.length > 1 ? Object.fromEntries(found) : undefined;
}

const structureOf = (value: unknown): unknown => (typeof value === "string" ? parseStructure(value) : value);

function memberOf(value: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((object, member) => {
    if (typeof object !== "object" || object === null || !Object.hasOwn(object, member)) return undefined;
    return Reflect.get(object, member);
  }, value);
}

/** Basalt's SDK for JavaScript encodes every text as JSON; the one for Python leaves texts as they are. */
const isFromBasaltJs = ({ resource, scope }: OtlpSpan): boolean =>
  resource["basalt.sdk.name"] === "@basalt-ai/sdk" || scope.name === "@basalt-ai/sdk";
