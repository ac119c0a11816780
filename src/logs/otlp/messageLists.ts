import { objectOf } from "../../limits/members.ts";
import type { JsonTexts } from "./jsonTexts.ts";
import type { OtlpSpan } from "./span.ts";

/** The deepest nesting that a key can ask for. The rest of a longer key stays one key. */
const MAX_KEY_PARTS = 12;

/** OpenInference puts each entry of a list into an object with this one member. */
const WRAPPERS = new Set(["message", "message_content", "tool_call", "document", "embedding", "tool"]);

/** Each part of a key makes an object and its entry. */
const VALUES_OF_PART = 2;

type Branch = Map<string, unknown>;

/** The span whose attributes spell lists. */
interface Spelled {
  span: Pick<OtlpSpan, "attributes" | "events">;
  /** The keys of its attributes. */
  keys: string[];
  texts: JsonTexts;
}

/**
 * The list that attributes such as `<prefix>.0.role` and `<prefix>.0.content` spell; undefined when there are none. The
 * numbers give the order of the entries, not their places: gaps take no memory.
 */
export function readList({ span, keys, texts }: Spelled, prefix: string): unknown[] | undefined {
  const found = keys
    .filter((key) => key.startsWith(prefix) && key[prefix.length] === ".")
    .map((key) => ({ key, path: toPath(key.slice(prefix.length + 1)) }))
    .filter(({ path }) => toIndex(path[0]!) !== null);
  if (found.length === 0) return undefined;
  const parts = found.reduce((sum, { path }) => sum + path.length, 0);
  if (!texts.countValues(VALUES_OF_PART * parts)) return undefined;
  const root: Branch = new Map();
  for (const { key, path } of found) addLeaf(root, path, toValue(texts, span.attributes[key]));
  return toEntries(root);
}

/** The attributes whose keys begin with a prefix, by the rest of their keys; undefined when there are none. */
export function readBelow(
  { span, keys, texts }: Spelled,
  prefix: string,
): Record<string, unknown> | undefined {
  const found = keys.filter((key) => key.startsWith(prefix) && key.length > prefix.length);
  if (found.length === 0) return undefined;
  return objectOf(found.map((key) => [key.slice(prefix.length), toValue(texts, span.attributes[key])]));
}

/** The messages that events of the given names hold; undefined when there are none. */
export function readEvents({ span, texts }: Spelled, names: readonly string[]): unknown[] | undefined {
  if (span.events.length === 0) return undefined;
  const found = span.events.filter(({ name }) => names.includes(name));
  if (found.length === 0) return undefined;
  return found.map(({ name, attributes }) => {
    const members = Object.entries(attributes).map(([key, value]) => [key, toValue(texts, value)] as const);
    const role = /^gen_ai\.(\w+)\.message$/.exec(name)?.[1];
    return objectOf(role === undefined ? members : [["role", role], ...members]);
  });
}

/** Messages with the system instructions, which some senders keep apart, as their first. */
export function joinInstructions(instructions: unknown, messages: unknown): unknown {
  if (instructions === undefined) return messages;
  const parts = Array.isArray(instructions) ? instructions : [{ type: "text", content: instructions }];
  const first = { role: "system", parts };
  if (messages === undefined) return [first];
  return [first, ...(Array.isArray(messages) ? messages : [messages])];
}

function toPath(text: string): string[] {
  const parts = text.split(".");
  if (parts.length <= MAX_KEY_PARTS) return parts;
  return [...parts.slice(0, MAX_KEY_PARTS - 1), parts.slice(MAX_KEY_PARTS - 1).join(".")];
}

/** Where a path runs into a value, the value stays; the attributes still hold both. */
function addLeaf(root: Branch, path: string[], value: unknown): void {
  let branch = root;
  for (const part of path.slice(0, -1)) {
    const next = branch.get(part) ?? new Map<string, unknown>();
    if (!(next instanceof Map)) return;
    branch.set(part, next);
    branch = next;
  }
  const last = path.at(-1)!;
  if (!branch.has(last)) branch.set(last, value);
}

function toTree(node: unknown): unknown {
  if (!(node instanceof Map)) return node;
  const branch: Branch = node;
  for (const key of branch.keys())
    if (toIndex(key) === null) return objectOf([...branch].map(([name, value]) => [name, toTree(value)]));
  return toEntries(branch);
}

function toEntries(branch: Branch): unknown[] {
  const indexed = [...branch].map(([key, value]) => ({ index: toIndex(key)!, value }));
  return indexed.toSorted((a, b) => a.index - b.index).map(({ value }) => unwrap(toTree(value)));
}

function unwrap(entry: unknown): unknown {
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) return entry;
  const [only, ...others] = Object.entries(entry);
  const isWrapped = only && others.length === 0 && WRAPPERS.has(only[0]) && typeof only[1] === "object";
  return isWrapped ? only[1] : entry;
}

const toValue = (texts: JsonTexts, value: unknown): unknown =>
  typeof value === "string" ? texts.parseStructure(value) : value;

/** The number that a part of a key is; null when it is a name. */
const toIndex = (part: string): number | null => (/^\d{1,15}$/.test(part) ? Number(part) : null);
