import { isMap, LineCounter, parseDocument, stringify, visit } from "yaml";
import { z } from "zod";
import { faultsOf, INEXACT, isInexact } from "../inputs.ts";
import type { PromptContent } from "../prompts/content.resolvers.ts";
import {
  createPromptInput,
  promptModel,
  promptTagInput,
  promptVariable,
  promptVersionInput,
} from "../prompts/inputs.ts";

const strict = "is not known here";

/** What a file tells of a prompt: everything but the slug may be absent, and is left as it is then. */
export const promptFile = z.strictObject({
  ...createPromptInput.shape,
  tags: z.record(promptTagInput.shape.tag, z.string()).optional(),
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
    ...(Object.keys(tags).length > 0 && { tags }),
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

/** A fault of a file at a line. */
export interface LineFault {
  line: number;
  message: string;
}

/** Reads the YAML of a prompt and judges it by the rules that the service has for prompts. */
export function fromPromptYaml(text: string): {
  prompt: PromptFile | null;
  faults: LineFault[];
  /** The line where something stands, such as `["versions", 0, "text"]`. */
  lineOf: (path: (string | number)[]) => number;
} {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const lineOf = (path: (string | number)[]): number => {
    const node = path.length === 0 ? document.contents : document.getIn(path, true);
    const range = (node as { range?: [number, number, number] | null } | undefined)?.range;
    if (range) return lineAt(range[0]);
    return path.length === 0 ? 1 : lineOf(path.slice(0, -1));
  };
  const faults = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    line: lineAt(pos[0]),
    message,
  }));
  visit(document, {
    Scalar: (_, { value, source, range }) => {
      if (typeof value === "number" && source && isInexact(source))
        faults.push({ line: lineAt(range![0]), message: INEXACT });
    },
  });
  if (faults.length > 0) return { prompt: null, faults, lineOf };
  if (!isMap(document.contents))
    return { prompt: null, faults: [{ line: 1, message: "must be a prompt with a slug" }], lineOf };
  const judged = promptFile.safeParse(document.toJS());
  if (judged.success) return { prompt: judged.data, faults, lineOf };
  const found = judged.error.issues.flatMap((issue) => {
    const path = issue.path.filter((step) => typeof step !== "symbol");
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({
        line: lineOf([...path, key]),
        message: `${[...path, key].join(".")} ${strict}`,
      }));
    const [fault] = faultsOf([issue]);
    return { line: lineOf(path), message: `${fault!.path} ${fault!.message}`.trim() };
  });
  return { prompt: null, faults: found, lineOf };
}
