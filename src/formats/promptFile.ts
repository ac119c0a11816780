import {
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
} from "../prompts/inputs.ts";
import { detailsOf } from "../validation/messages.ts";
import { INEXACT, isInexact } from "../validation/numbers.ts";
import { isObject } from "./rows.ts";

const strict = "is not known here";

/** As an object, zod would leave out the key `__proto__`. */
function toMap(value: unknown): unknown {
  return isObject(value) ? new Map(Object.entries(value)) : value;
}

/** What a file tells of a prompt: everything but the slug may be absent, and is left as it is then. */
export const promptFile = z.strictObject({
  ...createPromptInput.shape,
  tags: z
    .preprocess(toMap, z.map(promptTagInput.shape.tag, z.string(), { error: "must be an object" }))
    .optional(),
  protectedTags: z.array(promptTagInput.shape.tag).optional(),
  versions: z
    .array(
      z.strictObject({
        ...promptVersionInput.shape,
        model: z.strictObject(promptModel.shape).nullish(),
        variables: z.array(z.strictObject(promptVariable.shape)).nullish(),
      }),
    )
    .optional(),
});
export type PromptFile = z.output<typeof promptFile>;

/** A prompt as YAML that people can read and keep in git; null and empty parts are left out. */
export function toPromptYaml(prompt: PromptContent): string {
  const { slug, name, description, featureSlug, tags, protectedTags, versions } = prompt;
  const shown = {
    slug,
    name,
    ...(description !== null && { description }),
    ...(featureSlug !== null && { featureSlug }),
    ...(tags.size > 0 && { tags }),
    ...(protectedTags.length > 0 && { protectedTags }),
    versions: versions.map(({ version, systemText, text, model, variables }) => ({
      version,
      ...(systemText !== null && { systemText }),
      text,
      ...(model && { model: withoutNulls(model) }),
      ...(variables.length > 0 && { variables: variables.map(withoutNulls) }),
    })),
  };
  return stringify(shown, { lineWidth: 0, aliasDuplicateObjects: false, blockQuote: "literal" });
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

/** Reads the YAML of a prompt and judges it by the rules that the service has for prompts. */
export function fromPromptYaml(text: string): {
  prompt: PromptFile | null;
  details: LineError[];
  /** The line where something stands, such as `["versions", 0, "text"]`. */
  lineOf: (path: (string | number)[]) => number;
} {
  const lines = new LineCounter();
  // The library looks for keys that stand twice by comparing each with all before it.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const lineOf = createLineOf(document.contents, lineAt);
  const details = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    line: lineAt(pos[0]),
    message,
  }));
  let aliases = 0;
  visit(document, {
    Alias: () => {
      // The library looks for what each one means among all of them.
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
  const judged = promptFile.safeParse(document.toJS());
  if (judged.success) return { prompt: judged.data, details, lineOf };
  return { prompt: null, details: toDetails(judged.error.issues, lineOf), lineOf };
}

type Path = (string | number)[];

function toDetails(issues: z.core.$ZodIssue[], lineOf: (path: Path) => number): LineError[] {
  return issues.flatMap((issue) => {
    const path = issue.path.filter((step) => typeof step !== "symbol");
    const found = issue.code === "unrecognized_keys" ? issue.keys.map((key) => [...path, key]) : [path];
    const message = issue.code === "unrecognized_keys" ? strict : issue.message;
    return found.map((place) => {
      const [detail] = detailsOf([{ message, path: place }]);
      return { line: lineOf(place), message: `${detail!.path} ${detail!.message}`.trim() };
    });
  });
}

/** Where the keys begin that stand in a map before. */
function repeatedKeys({ items }: YAMLMap): number[] {
  const seen = new Set<unknown>();
  return items.flatMap(({ key }) => {
    if (!isScalar(key)) return [];
    const isRepeated = seen.has(key.value);
    seen.add(key.value);
    return isRepeated ? key.range![0] : [];
  });
}

/** Makes the search for the line of a path; where there is nothing, it is that of what it would stand in. */
function createLineOf(root: unknown, lineAt: (offset: number) => number): (path: Path) => number {
  const membersOf = new Map<unknown, Map<string, unknown>>();
  const membersIn = (node: unknown) => {
    const known = membersOf.get(node);
    if (known) return known;
    const members = new Map<string, unknown>();
    if (isMap(node)) for (const { key, value } of node.items) members.set(String(key), value);
    else if (isCollection(node)) for (const [at, item] of node.items.entries()) members.set(String(at), item);
    membersOf.set(node, members);
    return members;
  };
  return (path) => {
    let found = root;
    for (const step of path) {
      const next = membersIn(found).get(String(step));
      if (!rangeOf(next)) break;
      found = next;
    }
    const range = rangeOf(found);
    return range ? lineAt(range[0]) : 1;
  };
}

function rangeOf(node: unknown): [number, number, number] | null | undefined {
  return (node as { range?: [number, number, number] | null } | null | undefined)?.range;
}
