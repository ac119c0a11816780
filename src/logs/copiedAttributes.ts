import { once } from "../database/loader.ts";
import { isSlowToWrite, jsonSize } from "../limits/jsonSize.ts";
import { objectOf } from "../limits/members.ts";
import type { ReportedLog } from "./reported.ts";

/** What names a copy takes some 60 bytes itself. */
const MIN_COPIED_CHARACTERS = 100;
/** A value beyond this size, as jsonSize counts, has a longer text than those characters. */
const MAX_WRITTEN = 10_000;

/** What a span holds beside its attributes, and a trace beside its root. */
export const content = ["input", "output", "metadata"] as const;
export type ContentPart = (typeof content)[number];
export type Content = Pick<ReportedLog, ContentPart>;

/** The attribute of a span that holds what a column of its log holds: the value itself, or its JSON text. */
interface Copy {
  attribute: string;
  isJsonText: boolean;
}

type Copies = Partial<Record<ContentPart, Copy>>;

/**
 * The attributes of a log as they are stored. An attribute of its span that is the input, the output or the metadata of the log,
 * character by character, is null in them, and `copies` names it: messages would take twice their length. Each column stands for
 * one attribute, so that a log is read in at most the bytes of its columns and of these three once more.
 */
export function withoutCopies(
  attributes: ReportedLog["attributes"],
  values: Content,
): ReportedLog["attributes"] {
  const span = attributes?.span as Record<string, unknown> | undefined;
  if (!span) return attributes;
  const copies: Copies = {};
  const keys = new Set<string>();
  for (const column of content) {
    const copy = findCopy(span, values[column], keys);
    if (!copy) continue;
    copies[column] = copy;
    keys.add(copy.attribute);
  }
  if (keys.size === 0) return attributes;
  const rest = Object.entries(span).map(([key, value]) => [key, keys.has(key) ? null : value] as const);
  return { ...attributes, span: objectOf(rest), copies };
}

function findCopy(span: Record<string, unknown>, value: unknown, taken: Set<string>): Copy | undefined {
  if (value === null) return undefined;
  const others = Object.entries(span).filter(([attribute]) => !taken.has(attribute));
  if (typeof value === "string" && value.length >= MIN_COPIED_CHARACTERS) {
    const same = others.find(([, held]) => held === value);
    if (same) return { attribute: same[0], isJsonText: false };
  }
  if (isShort(value)) return undefined;
  const same = others.find(([, held]) => typeof held === "object" && isSameJson(held, value));
  if (same) return { attribute: same[0], isJsonText: false };
  const texts = others.filter(([, held]) => typeof held === "string" && held.length >= MIN_COPIED_CHARACTERS);
  if (texts.length === 0 || isSlowToWrite(value)) return undefined;
  const text = JSON.stringify(value);
  const itsText = texts.find(([, held]) => held === text);
  return itsText && { attribute: itsText[0], isJsonText: true };
}

/** Whether the JSON text of a value is too short to be worth a copy; a long one is not written for this. */
const isShort = (value: unknown): boolean =>
  jsonSize(value, MAX_WRITTEN) <= MAX_WRITTEN && JSON.stringify(value).length < MIN_COPIED_CHARACTERS;

/** The value of a log is compared with each attribute: 1,000 look-ups of its names took 15 s. */
const namesOf = once((object: object) => Object.keys(object));

/** Whether two values of JSON have the same text. Writing both takes V8 up to 12 microseconds for one number in them. */
function isSameJson(one: unknown, other: unknown): boolean {
  if (!isObject(one) || !isObject(other)) return one === other;
  if (Array.isArray(one) || Array.isArray(other))
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, at) => isSameJson(item, other[at]))
    );
  const names = namesOf(one);
  const others = namesOf(other);
  return (
    names.length === others.length &&
    names.every((name, at) => name === others[at] && isSameJson(one[name], other[name]))
  );
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** The attributes of a stored log as they came. */
export function withCopies(
  attributes: ReportedLog["attributes"],
  values: Content,
): ReportedLog["attributes"] {
  if (!attributes?.copies) return attributes;
  const { copies, ...parts } = attributes;
  const copied = new Map(
    Object.entries(copies as Record<ContentPart, Copy>).map(([column, { attribute, isJsonText }]) => {
      const value = values[column as ContentPart];
      return [attribute, isJsonText ? JSON.stringify(value) : value];
    }),
  );
  const span = Object.entries(parts.span as object).map(
    ([key, value]) => [key, copied.get(key) ?? value] as const,
  );
  return { ...parts, span: objectOf(span) };
}
