import type { ReportedType } from "../reported.ts";
import { type JsonTexts, NOT_JSON } from "./jsonTexts.ts";
import { joinInstructions, readBelow, readEvents, readList } from "./messageLists.ts";
import type { AttributeSource, Field, Source, SpanCondition } from "./source.ts";
import type { OtlpSpan } from "./span.ts";

/** A span while it is mapped. */
export interface Reading {
  span: OtlpSpan;
  /** The keys of its attributes. */
  keys: string[];
  texts: JsonTexts;
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
  for (const reader of readersOf(field)) {
    const value = take(reading, field, reader);
    if (value !== undefined) return { value, source: reader.source };
  }
  return null;
}

/** The value of a field; null when no source gives it. */
export const readField = <T>(reading: Reading, field: Field<T>): T | null =>
  find(reading, field)?.value ?? null;

/** What each source of a field gives. */
export const findAll = <T>(reading: Reading, field: Field<T>): Found<T>[] =>
  readersOf(field).flatMap((reader) => {
    const value = take(reading, field, reader);
    return value === undefined ? [] : [{ value, source: reader.source }];
  });

function take<T>(reading: Reading, field: Field<T>, { source, read }: Reader): T | undefined {
  const value = read(reading);
  if (value === undefined || value === null || value === "") return undefined;
  return source.for && !meets(reading, source.for) ? undefined : field.accept(value, source, reading.span);
}

/** A source with the function that reads it, which knows already of what form the source is. */
interface Reader {
  source: Source;
  read: (reading: Reading) => unknown;
}

/** Each span asks about 160 sources. Looking at the forms of them all each time took a third of the mapping's time. */
const readers = new WeakMap<Field<unknown>, Reader[]>();

function readersOf(field: Field<unknown>): Reader[] {
  const known = readers.get(field);
  if (known) return known;
  const made = field.from.map((source) => ({ source, read: toReader(source) }));
  readers.set(field, made);
  return made;
}

function toReader(source: Source): Reader["read"] {
  if ("resource" in source) return ({ span }) => span.resource[source.resource];
  if ("list" in source) return (reading) => readList(reading, source.list);
  if ("below" in source) return (reading) => readBelow(reading, source.below);
  if ("events" in source) return (reading) => readEvents(reading, source.events);
  if ("event" in source)
    return ({ span, texts }) =>
      structureOf(texts, span.events.find(({ name }) => name === source.event)?.attributes[source.attribute]);
  if ("parts" in source) return (reading) => readParts(reading, Object.entries(source.parts));
  if ("instructions" in source)
    return ({ span: { attributes }, texts }) =>
      joinInstructions(
        structureOf(texts, attributes[source.instructions]),
        structureOf(texts, attributes[source.messages]),
      );
  if ("member" in source) return toMemberReader(source.attribute, source.member.split("."));
  return (reading) => {
    const value = reading.span.attributes[source.attribute];
    return typeof value === "string" || source.json === "always" ? decode(reading, source, value) : value;
  };
}

function toMemberReader(attribute: string, path: string[]): Reader["read"] {
  return ({ span, texts }) => memberOf(structureOf(texts, span.attributes[attribute]), path);
}

function meets({ span, type, isRoot }: Reading, condition: SpanCondition): boolean {
  if (condition === "root") return isRoot;
  if (condition === "modelCall") return type === "generation" || type === "embedding";
  if (condition === "outer") return !String(span.attributes["ai.operationId"]).includes(".do");
  return type === condition;
}

function decode(reading: Reading, source: AttributeSource, value: unknown): unknown {
  const isJson = source.json === "always" || (source.json === "basalt" && isFromBasaltJs(reading.span));
  if (isJson) return parseAlways(reading, source.attribute, value);
  if (typeof value !== "string") return value;
  if (source.beforeDot) return value.split(".", 1)[0];
  return reading.texts.parseStructure(value, source.json === "quoted" ? '{["' : "{[");
}

/** Parses what the sender encodes as JSON. A text that was cut on the way is kept as it is. */
function parseAlways(reading: Reading, key: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => parseAlways(reading, key, entry));
  if (typeof value !== "string" || value === "") return value;
  const parsed = reading.texts.parse(value);
  if (parsed !== NOT_JSON) return parsed;
  reading.warnings.add(`The attribute "${key}" is not complete JSON. Gabbro keeps it as a text.`);
  return value;
}

/** The parts that are there, or the only one as it is. */
function readParts({ span, texts }: Reading, parts: [name: string, attribute: string][]): unknown {
  const found = parts.flatMap(([name, attribute]) => {
    const value = structureOf(texts, span.attributes[attribute]);
    return value === undefined || value === "" ? [] : [[name, value] as const];
  });
  return found.length === 1 ? found[0]![1] : found.length > 1 ? Object.fromEntries(found) : undefined;
}

const structureOf = (texts: JsonTexts, value: unknown): unknown =>
  typeof value === "string" ? texts.parseStructure(value) : value;

function memberOf(value: unknown, path: string[]): unknown {
  return path.reduce<unknown>((object, member) => {
    if (typeof object !== "object" || object === null || !Object.hasOwn(object, member)) return undefined;
    return Reflect.get(object, member);
  }, value);
}

/** Basalt's SDK for JavaScript encodes every text as JSON; the one for Python leaves texts as they are. */
const isFromBasaltJs = ({ resource, scope }: OtlpSpan): boolean =>
  resource["basalt.sdk.name"] === "@basalt-ai/sdk" || scope.name === "@basalt-ai/sdk";
