import { isDeepStrictEqual } from "node:util";
import type { Context } from "../../context.ts";
import { type ErrorDetail, GabbroError, quoted } from "../../errors.ts";
import type { LineError, PromptFile } from "../../formats/promptFile.ts";
import {
  contentOf,
  createPrompt,
  createPromptVersion,
  templatesOf,
  updatePrompt,
} from "../../prompts/authoring.resolvers.ts";
import type { PromptContent } from "../../prompts/content.resolvers.ts";
import type { VersionSource } from "../../prompts/entities.ts";
import { LATEST } from "../../prompts/selection.ts";
import { publishPrompt, setTagProtection } from "../../prompts/tags.resolvers.ts";
import { parseTemplate } from "../../templates/templates.ts";

/** One change of an import: its description and its execution. */
export interface Step extends Difference {
  description: string;
  /** A version that it adds gets the source. */
  run: (context: Context, source: VersionSource | null) => Promise<unknown>;
}

/** Something that the files and Gabbro do not have alike. */
export interface Difference {
  where: "only in the files" | "only in Gabbro" | "differs";
  subject: string;
}

/** A version whose stored content is another one, which no import can change. */
export interface Conflict {
  subject: string;
  version: string;
  line: number;
}

export interface PromptPlan {
  steps: Step[];
  /** Errors of the file. */
  details: LineError[];
  conflicts: Conflict[];
}

type Path = (string | number)[];

/** The steps that change a prompt to what its file says. They remove nothing that the file does not mention. */
export function planPrompt(
  file: PromptFile,
  current: PromptContent | undefined,
  lineOf: (path: Path) => number,
): PromptPlan {
  const details: LineError[] = [];
  const conflicts: Conflict[] = [];
  const detail = (path: Path, message: string) => details.push({ line: lineOf(path), message });
  const steps = [
    ...headSteps(file, current),
    ...versionSteps(file, current, {
      detail,
      conflict: (at, version) =>
        conflicts.push({ subject: versionOf(version, file.slug), version, line: lineOf(["versions", at]) }),
    }),
    ...tagSteps(file, current, detail),
    ...protectionSteps(file, current, detail),
  ];
  return { steps, details, conflicts };
}

const promptOf = (slug: string) => `prompt ${quoted(slug)}`;
const versionOf = (version: string, slug: string) => `version ${quoted(version)} of ${promptOf(slug)}`;
const tagOf = (label: string, slug: string) => `tag ${quoted(label)} of ${promptOf(slug)}`;
const protectionOf = (label: string, slug: string) => `protection of ${tagOf(label, slug)}`;

type Report = (path: Path, message: string) => void;

function headSteps(file: PromptFile, current: PromptContent | undefined): Step[] {
  const { slug, name, description, featureSlug } = file;
  if (!current)
    return [
      {
        where: "only in the files",
        subject: promptOf(slug),
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
  const subject = `${changes.join(", ")} of ${promptOf(slug)}`;
  return [{ where: "differs", subject, description: `change ${subject}`, run }];
}

function versionSteps(
  file: PromptFile,
  current: PromptContent | undefined,
  { detail, conflict }: { detail: Report; conflict: (at: number, version: string) => void },
): Step[] {
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
    if (content && existing && !isSame(content, input, existing)) conflict(at, version);
    if (existing) return [];
    const late = at < lastExisting ? ", as the newest, for its place is taken" : "";
    const run = (context: Context, source: VersionSource | null) =>
      createPromptVersion(context, { slug, input: { ...input, source } });
    const description = `add version ${quoted(version)} to ${promptOf(slug)}${late}`;
    return [{ where: "only in the files", subject: versionOf(version, slug), description, run }];
  });
}

export type VersionInput = NonNullable<PromptFile["versions"]>[number];

/** The content to store for a version of a file; null when it has errors, which are reported. */
export function contentFor(input: VersionInput, detail: (part: string, message: string) => void) {
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
    const run = (context: Context) => publishPrompt(context, { slug, newTag: label, version });
    const subject = tagOf(label, slug);
    if (before === undefined)
      return [
        { where: "only in the files", subject, description: `set ${subject} to ${quoted(version)}`, run },
      ];
    const places = `${quoted(version)} in the files, ${quoted(before)} in Gabbro`;
    const description = `move ${subject} from ${quoted(before)} to ${quoted(version)}`;
    return [{ where: "differs", subject: `${subject}: ${places}`, description, run }];
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
    where: "only in the files",
    subject: protectionOf(label, slug),
    description: `protect ${tagOf(label, slug)}`,
    run: (context) => setTagProtection(context, { slug, input: { tag: label, protected: true } }),
  }));
}

/** What is stored of a prompt and not in its file. An import leaves it as it is. */
export function storedAlone(file: PromptFile, stored: PromptContent): Difference[] {
  const { slug } = file;
  const versions = new Set(file.versions?.map(({ version }) => version));
  const labels = new Set(file.protectedTags);
  const heads = (["description", "featureSlug"] as const).filter(
    (field) => file[field] === undefined && stored[field] !== null,
  );
  const subjects = [
    ...heads.map((field) => `${field} of ${promptOf(slug)}`),
    ...stored.versions.flatMap(({ version }) => (versions.has(version) ? [] : versionOf(version, slug))),
    ...[...stored.tags.keys()].flatMap((label) => (file.tags?.has(label) ? [] : tagOf(label, slug))),
    ...stored.protectedTags.flatMap((label) => (labels.has(label) ? [] : protectionOf(label, slug))),
  ];
  return subjects.map((subject) => ({ where: "only in Gabbro", subject }));
}
