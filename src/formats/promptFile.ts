import {
  type ErrorCode,
  isCollection,
  isMap,
  isScalar,
  LineCounter,
  parseDocument,
  stringify,
  visit,
  type YAMLMap,
} from "yaml";
import { z } from "zod";
import type { PromptContent } from "../prompts/content.resolvers.ts";
import {
  createPromptInput,
  promptModel,
  promptTagInput,
  promptVariable,
  promptVersionInput,
  requireText,
} from "../prompts/inputs.ts";
import { strictPromptMessages } from "../prompts/messages.inputs.ts";
import { followFromMessages } from "../prompts/messages.ts";
import { detailsOf } from "../validation/messages.ts";
import { INEXACT, isInexact } from "../validation/numbers.ts";
import { isObject } from "./rows.ts";

const UNKNOWN_KEY = "is not known here";

/** A map, as zod would leave the key `__proto__` out of an object. */
function toMap(value: unknown): unknown {
  return isObject(value) ? new Map(Object.entries(value)) : value;
}

/** The commit is of git, not of a file in it. */
const { source: _, ...fileVersion } = promptVersionInput.shape;

/** The content of a prompt's file. Everything but the slug is optional; absent parts stay as they are. */
export const promptFile = z.strictObject({
  ...createPromptInput.shape,
  tags: z
    .preprocess(
      toMap,
      z.map(promptTagInput.shape.input.shape.tag, z.string(), { error: "must be an object" }),
    )
    .optional(),
  protectedTags: z.array(promptTagInput.shape.input.shape.tag).optional(),
  versions: z
    .array(
      z
        .strictObject({
          ...fileVersion,
          messages: strictPromptMessages.nullish(),
          model: z.strictObject(promptModel.shape).nullish(),
          variables: z.array(z.strictObject(promptVariable.shape)).nullish(),
        })
        .superRefine(requireText),
    )
    .optional(),
});
export type PromptFile = z.output<typeof promptFile>;

/** A prompt as YAML that people can read and keep in git; null and empty parts are left out. */
export function toPromptYaml(prompt: PromptContent): string {
  const { slug, name, description, featureSlug, tags, protectedTags, versions } = prompt;
  const content = {
    slug,
    name,
    ...(description !== null && { description }),
    ...(featureSlug !== null && { featureSlug }),
    ...(tags.size > 0 && { tags }),
    ...(protectedTags.length > 0 && { protectedTags }),
    versions: versions.map(({ version, model, variables, ...texts }) => ({
      version,
      ...textsToWrite(texts),
      ...(model && { model: withoutNulls(model) }),
      ...(variables.length > 0 && { variables: variables.map(withoutNulls) }),
    })),
  };
  return stringify(content, { lineWidth: 0, aliasDuplicateObjects: false, blockQuote: "literal" });
}

/** Texts that follow from the messages are left out. */
function textsToWrite(texts: Pick<PromptContent["versions"][number], "text" | "systemText" | "messages">) {
  const { text, systemText, messages } = texts;
  const follows = followFromMessages(texts);
  // A file with a text alone has no system text, whatever its messages.
  const hasText = !follows.text || (!follows.systemText && systemText === null);
  return {
    ...(systemText !== null && (hasText || !follows.systemText) && { systemText }),
    ...(hasText && { text }),
    ...(messages && { messages }),
  };
}

function withoutNulls(object: object): object {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

/** An error of a file at a line. */
export interface LineError {
  line: number;
  message: string;
}

const MAX_ALIASES = 1_000;

/** What JSON cannot hold would be stored as something else. */
const ownMessages: Partial<Record<ErrorCode, string>> = {
  NON_STRING_KEY: "a key must be a text, without a tag or an alias",
  TAG_RESOLVE_FAILED: "has a tag whose values JSON does not have; write the value without the tag",
};

const YAML_1_1 = "is of YAML 1.1, where no is false and 010 is 8; write YAML 1.2 and remove this line";

/** Parses the YAML of a prompt and validates it by the rules of the service. */
export function fromPromptYaml(text: string): {
  prompt: PromptFile | null;
  details: LineError[];
  /** The line of a path such as `["versions", 0, "text"]`. */
  lineOf: (path: (string | number)[]) => number;
} {
  const lines = new LineCounter();
  // The library's own search for duplicate keys compares each key with all before it.
  const document = parseDocument(text, {
    ...{ lineCounter: lines, prettyErrors: false, uniqueKeys: false },
    ...{ resolveKnownTags: false, stringKeys: true },
  });
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const lineOf = createLineOf(document.contents, lineAt);
  const details = [...document.errors, ...document.warnings].map(({ pos, code, message }) => ({
    line: lineAt(pos[0]),
    message: ownMessages[code] ?? message,
  }));
  if (document.directives?.yaml.version === "1.1")
    details.push({ line: lineAt(text.search(/^%YAML/m)), message: YAML_1_1 });
  let aliases = 0;
  visit(document, {
    Alias: () => {
      // The library searches all anchors for each alias.
      if (++aliases > MAX_ALIASES) throw new Error(`it has more than ${MAX_ALIASES} aliases`);
    },
    Map: (_, map) => {
      for (const offset of repeatedKeys(map))
        details.push({ line: lineAt(offset), message: "Map keys must be unique" });
    },
    Scalar: (_, { value, source, range }) => {
      if (typeof value === "number" && source && isInexact(source))
        details.push({ line: lineAt(range![0]), message: INEXACT });
    },
  });
  if (details.length > 0) return { prompt: null, details, lineOf };
  if (!isMap(document.contents))
    return { prompt: null, details: [{ line: 1, message: "must be a prompt with a slug" }], lineOf };
  const parsed = promptFile.safeParse(document.toJS());
  if (parsed.success) return { prompt: parsed.data, details, lineOf };
  return { prompt: null, details: toDetails(parsed.error.issues, lineOf), lineOf };
}

type Path = (string | number)[];

function toDetails(issues: z.core.$ZodIssue[], lineOf: (path: Path) => number): LineError[] {
  return issues.flatMap((issue) => {
    const path = issue.path.filter((step) => typeof step !== "symbol");
    const paths = issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...path, key]) : [path];
    const message = issue.code === "unrecognized_keys" ? UNKNOWN_KEY : issue.message;
    return paths.map((place) => {
      const [detail] = detailsOf([{ message, path: place }]);
      return { line: lineOf(place), message: `${detail!.path} ${detail!.message}`.trim() };
    });
  });
}

/** The offsets of keys that repeat an earlier key of a map. */
function repeatedKeys({ items }: YAMLMap): number[] {
  const seen = new Set<unknown>();
  return items.flatMap(({ key }) => {
    if (!isScalar(key)) return [];
    const isRepeated = seen.has(key.value);
    seen.add(key.value);
    return isRepeated ? key.range![0] : [];
  });
}

/** Creates a look-up of the line of a path; a missing node has the line of the node that would hold it. */
function createLineOf(root: unknown, lineAt: (offset: number) => number): (path: Path) => number {
  const membersOf = new Map<unknown, Map<string, unknown>>();
  const membersIn = (node: unknown) => {
    const cached = membersOf.get(node);
    if (cached) return cached;
    const members = new Map<string, unknown>();
    if (isMap(node)) for (const { key, value } of node.items) members.set(String(key), value);
    else if (isCollection(node)) for (const [at, item] of node.items.entries()) members.set(String(at), item);
    membersOf.set(node, members);
    return members;
  };
  return (path) => {
    let node = root;
    for (const step of path) {
      const next = membersIn(node).get(String(step));
      if (!rangeOf(next)) break;
      node = next;
    }
    const range = rangeOf(node);
    return range ? lineAt(range[0]) : 1;
  };
}

function rangeOf(node: unknown): [number, number, number] | null | undefined {
  return (node as { range?: [number, number, number] | null } | null | undefined)?.range;
}
