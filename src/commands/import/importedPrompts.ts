import type { Context } from "../../context.ts";
import { quoted } from "../../errors.ts";
import { type PromptFile, promptFile } from "../../formats/promptFile.ts";
import type { ImportedPrompt, ImportedVersion } from "../../importers/entries.ts";
import { type PromptContent, promptContents } from "../../prompts/content.resolvers.ts";
import { LATEST } from "../../prompts/selection.ts";
import { detailsOf } from "../../validation/messages.ts";
import { contentFor, planPrompt } from "../promptFiles/promptPlan.ts";
import type { Outcome } from "./importOutcome.ts";

export interface PromptImport {
  run: "real" | "dry";
  /** What becomes of a tag that points to another version here than in the source. */
  tags: "kept" | "moved";
}

/**
 * Stores prompts of another product. Versions never change: one that is here with another content is refused. A tag that is here
 * may be in use, so it moves only on demand.
 */
export function createPromptStore(context: Context, outcome: Outcome, { run, tags }: PromptImport) {
  let stored: Map<string, PromptContent> | undefined;
  const nameOf = new Map<string, string>();
  return async (prompt: ImportedPrompt): Promise<void> => {
    stored ??= new Map((await promptContents(context)).map((each) => [each.slug, each]));
    const { slug, name } = prompt;
    const other = nameOf.get(slug);
    if (other !== undefined && other !== name)
      return outcome.refuse(
        prompt,
        `prompt ${quoted(name)} has the slug ${quoted(slug)} of ${quoted(other)}`,
      );
    nameOf.set(slug, name);
    const current = stored.get(slug);
    const whole = toFile(
      tags === "moved" ? prompt : withoutMoves(prompt, current, outcome),
      current,
      outcome,
    );
    if (!whole) return;
    const { conflicts } = planPrompt(whole, current, () => prompt.line);
    const conflicting = new Set(conflicts.map(({ version }) => version));
    for (const { version, subject } of conflicts)
      outcome.refuse(
        prompt.versions.find((each) => each.version === version) ?? prompt,
        `${subject} exists with other content; versions never change`,
      );
    const file = withoutTagsOf(conflicting, whole, (reason) => outcome.refuse(prompt, reason));
    const { steps } = planPrompt(file, current, () => prompt.line);
    count(outcome, { file, current, conflicting });
    if (run === "real") for (const step of steps) await step.run(context, null);
    stored.set(slug, afterImport(name, file, current));
  };
}

/** A prompt without the tags of refused versions: the ones that are here have another content. */
function withoutTagsOf(refused: Set<string>, file: PromptFile, refuse: (reason: string) => void): PromptFile {
  const tags = [...(file.tags ?? [])].filter(([tag, version]) => {
    if (!refused.has(version)) return true;
    refuse(`tag ${quoted(tag)} points to version ${quoted(version)}, which was refused`);
    return false;
  });
  return { ...file, tags: new Map(tags) };
}

/** A prompt as it is after the import of a file: others may have more of its versions. */
function afterImport(name: string, file: PromptFile, current: PromptContent | undefined): PromptContent {
  const { slug, description = null, featureSlug = null, versions = [], tags = [] } = file;
  const before = current ?? {
    slug,
    name,
    description,
    featureSlug,
    protectedTags: [],
    tags: [],
    versions: [],
  };
  const existing = new Set(before.versions.map(({ version }) => version));
  const added = versions.flatMap((each) => {
    const content = existing.has(each.version) ? null : contentFor(each, () => {});
    return content ? [{ ...content }] : [];
  });
  return { ...before, tags: new Map([...before.tags, ...tags]), versions: [...before.versions, ...added] };
}

/** A prompt without the tags that point to another version here. */
function withoutMoves(prompt: ImportedPrompt, current: PromptContent | undefined, outcome: Outcome) {
  const tags = prompt.tags.filter(([tag, version]) => {
    const here = current?.tags.get(tag) ?? version;
    if (here !== version)
      outcome.leaveOut(
        `tag ${quoted(tag)} of ${quoted(prompt.slug)} at version ${quoted(version)}, as it is at ${quoted(here)} here; --move-tags moves it`,
      );
    return here === version;
  });
  return { ...prompt, tags };
}

/** A prompt without what the service would refuse. The name of one that is here may have been changed since. */
function toFile(
  { slug, name, description, versions, tags, ...place }: ImportedPrompt,
  current: PromptContent | undefined,
  outcome: Outcome,
): PromptFile | null {
  const valid = versions.flatMap((version) => validVersion(version, slug, outcome));
  const names = new Set([...valid, ...(current?.versions ?? [])].map(({ version }) => version));
  const kept = tags.filter(([tag, version]) => {
    if (tag === LATEST) return false;
    if (names.has(version)) return true;
    outcome.refuse(
      place,
      `tag ${quoted(tag)} of ${quoted(slug)} points to version ${quoted(version)}, which is missing`,
    );
    return false;
  });
  if (valid.length === 0 && versions.length > 0) return null;
  const head = current ? { slug } : { slug, name, ...(description && { description }) };
  const { data, error } = promptFile.safeParse({ ...head, tags: Object.fromEntries(kept), versions: valid });
  if (data) return data;
  const [detail] = detailsOf(error.issues);
  outcome.refuse(place, `prompt ${quoted(name)}: ${detail?.path} ${detail?.message}`);
  return null;
}

function validVersion({ file, line, ...version }: ImportedVersion, slug: string, outcome: Outcome) {
  const refuse = (message: string) =>
    outcome.refuse({ file, line }, `version ${quoted(version.version)} of ${quoted(slug)}: ${message}`);
  const { data, error } = promptFile.safeParse({ slug, versions: [version] });
  if (error) {
    const [detail] = detailsOf(error.issues, "versions.0");
    refuse(`${detail?.path} ${detail?.message}`);
    return [];
  }
  const messages: string[] = [];
  const [parsed] = data.versions ?? [];
  if (parsed) contentFor(parsed, (_, message) => messages.push(message));
  if (messages.length === 0) return parsed ? [parsed] : [];
  refuse(messages[0]!);
  return [];
}

interface Planned {
  file: PromptFile;
  current: PromptContent | undefined;
  conflicting: Set<string>;
}

function count(outcome: Outcome, { file, current, conflicting }: Planned): void {
  const existing = new Set(current?.versions.map(({ version }) => version));
  const versions = (file.versions ?? []).filter(({ version }) => !conflicting.has(version));
  const added = versions.filter(({ version }) => !existing.has(version)).length;
  outcome.count("prompts", current ? { unchanged: 1 } : { added: 1 });
  outcome.count("versions", { added, unchanged: versions.length - added });
  for (const [tag, version] of file.tags ?? []) {
    const before = current?.tags.get(tag);
    outcome.count(
      "tags",
      before === undefined ? { added: 1 } : before === version ? { unchanged: 1 } : { changed: 1 },
    );
  }
}
