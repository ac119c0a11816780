import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import { type ErrorDetail, GabbroError, quoted } from "../errors.ts";
import type { LineError, PromptFile } from "../formats/promptFile.ts";
import {
  contentOf,
  createPrompt,
  createPromptVersion,
  templatesOf,
  updatePrompt,
} from "../prompts/authoring.resolvers.ts";
import type { PromptContent } from "../prompts/content.resolvers.ts";
import { LATEST } from "../prompts/selection.ts";
import { publishPrompt, setTagProtection } from "../prompts/tags.resolvers.ts";
import { parseTemplate } from "../templates/templates.ts";

/** One change of an import: its description and its execution. */
export interface Step {
  description: string;
  run: (context: Context) => Promise<unknown>;
}

type Path = (string | number)[];

/** The steps that change a prompt to what its file says. They remove nothing that the file does not mention. */
export function planPrompt(
  file: PromptFile,
  current: PromptContent | undefined,
  lineOf: (path: Path) => number,
): { steps: Step[]; details: LineError[] } {
  const details: LineError[] = [];
  const detail = (path: Path, message: string) => details.push({ line: lineOf(path), message });
  const steps = [
    ...headSteps(file, current),
    ...versionSteps(file, current, detail),
    ...tagSteps(file, current, detail),
    ...protectionSteps(file, current, detail),
  ];
  return { steps, details };
}

type Report = (path: Path, message: string) => void;

function headSteps(file: PromptFile, current: PromptContent | undefined): Step[] {
  const { slug, name, description, featureSlug } = file;
  if (!current)
    return [
      {
        description: `create prompt ${quoted(slug)}`,
        run: (context) => createPrompt(context, { slug, name, description, featureSlug }),
      },
    ];
  const changes = (["name", "description", "featureSlug"] as const).filter((field) => {
    const value = file[field];
    return value !== undefined && !(field === "name" && value === null) && value !== current[field];
  });
  if (changes.length === 0) return [];
  const run = (context: Context) =>
    updatePrompt(context, { slug, input: Object.fromEntries(changes.map((field) => [field, file[field]])) });
  return [{ description: `change ${changes.join(", ")} of prompt ${quoted(slug)}`, run }];
}

function versionSteps(file: PromptFile, current: PromptContent | undefined, detail: Report): Step[] {
  const { slug, versions = [] } = file;
  const names = versions.map(({ version }) => version);
  const firstOf = new Map(names.toReversed().map((name, at) => [name, names.length - 1 - at]));
  const existingVersions = new Map(current?.versions.map((version) => [version.version, version]));
  const lastExisting = names.findLastIndex((name) => existingVersions.has(name));
  return versions.flatMap((input, at): Step[] => {
    const { version } = input;
    if (firstOf.get(version) !== at)
      detail(["versions", at], `version ${quoted(version)} stands there twice`);
    const content = contentFor(input, (part, message) =>
      detail(["versions", at, ...part.split(".")], message),
    );
    const existing = existingVersions.get(version);
    if (content && existing && !isSame(content, input, existing)) {
      detail(
        ["versions", at],
        `version ${quoted(version)} of prompt ${quoted(slug)} exists with other content; versions never change: give the new one another name`,
      );
    }
    if (existing) return [];
    const late = at < lastExisting ? ", as the newest, for its place is taken" : "";
    const run = (context: Context) => createPromptVersion(context, { slug, input });
    return [{ description: `add version ${quoted(version)} to prompt ${quoted(slug)}${late}`, run }];
  });
}

type VersionInput = NonNullable<PromptFile["versions"]>[number];

function contentFor(input: VersionInput, detail: (part: string, message: string) => void) {
  try {
    return contentOf(input, templatesOf(input).flatMap(parseTemplate)).content;
  } catch (error) {
    if (!(error instanceof GabbroError) || !error.details) throw error;
    for (const { path, message } of error.details as ErrorDetail[]) detail(path, `${path} ${message}`);
    return null;
  }
}

/** The file may list all stored variables, or leave out those that the texts use. */
function isSame(
  content: ReturnType<typeof contentOf>["content"],
  { variables }: VersionInput,
  current: PromptContent["versions"][number],
): boolean {
  if (isDeepStrictEqual(content, current)) return true;
  const declarations = content.variables.slice(0, variables?.length ?? 0);
  return isDeepStrictEqual({ ...content, variables: declarations }, current);
}

function tagSteps(file: PromptFile, current: PromptContent | undefined, detail: Report): Step[] {
  const { slug, tags = [], versions = [] } = file;
  const names = new Set([...versions, ...(current?.versions ?? [])].map(({ version }) => version));
  return [...tags].flatMap(([label, version]): Step[] => {
    if (label === LATEST)
      detail(["tags", label], `the tag "${LATEST}" follows the newest version by itself; leave it out`);
    if (!names.has(version))
      detail(
        ["tags", label],
        `the tag ${quoted(label)} points to ${quoted(version)}, which is no version of the prompt`,
      );
    const before = current?.tags.get(label);
    if (before === version) return [];
    const move =
      before === undefined ? `to ${quoted(version)}` : `from ${quoted(before)} to ${quoted(version)}`;
    const run = (context: Context) => publishPrompt(context, { slug, newTag: label, version });
    return [
      {
        description: `${before === undefined ? "set" : "move"} tag ${quoted(label)} of prompt ${quoted(slug)} ${move}`,
        run,
      },
    ];
  });
}

function protectionSteps(file: PromptFile, current: PromptContent | undefined, detail: Report): Step[] {
  const { slug, protectedTags = [] } = file;
  if (protectedTags.includes(LATEST))
    detail(
      ["protectedTags"],
      `the tag "${LATEST}" follows the newest version by itself and cannot be protected`,
    );
  const fresh = new Set(protectedTags).difference(new Set(current?.protectedTags));
  return [...fresh].map((label) => ({
    description: `protect tag ${quoted(label)} of prompt ${quoted(slug)}`,
    run: (context) => setTagProtection(context, { slug, input: { tag: label, protected: true } }),
  }));
}
