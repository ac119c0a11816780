import { quoted } from "../errors.ts";
import type { Warning } from "../warnings.ts";
import type { VersionChoice } from "./inputs.ts";

export const PRODUCTION = "production";
/** Always points to the newest version and is never stored. */
export const LATEST = "latest";

/** The part of a prompt from which a version is selected. */
export interface Selectable<Version extends NamedVersion = NamedVersion> {
  slug: string;
  /** Oldest first. */
  versions: Version[];
  tags: { label: string; versionId: string }[];
}

export interface NamedVersion {
  id: string;
  version: string;
}

export interface Selection<Version extends NamedVersion = NamedVersion> {
  version: Version | null;
  /** The tag by which the version was found; null when it was asked for by its own name, or when there is none. */
  tag: string | null;
  warnings: Warning[];
}

/** The labels of the tags of a prompt with versions in order, including `latest`. */
export function availableTags(tags: { label: string }[]): string[] {
  return [...tags.map(({ label }) => label), LATEST].toSorted();
}

/**
 * The version that serves: the requested one, else the production version, else none. A warning says when the requested
 * one is missing and which version serves instead.
 */
export function selectVersion<Version extends NamedVersion>(
  prompt: Selectable<Version>,
  choice: VersionChoice,
): Selection<Version> {
  const production = versionTagged(prompt, PRODUCTION);
  const label = choice.tag ?? PRODUCTION;
  const match = choice.version
    ? (prompt.versions.find(({ version }) => version === choice.version) ?? null)
    : versionTagged(prompt, label);
  if (match) return { version: match, tag: choice.version ? null : label, warnings: [] };

  const { what, ...about } = missingChoice(choice);
  const missing = `Prompt ${quoted(prompt.slug)} has ${what}`;
  if (production) {
    const message = `${missing}; the production version ${quoted(production.version)} was used instead.`;
    return { version: production, tag: PRODUCTION, warnings: [{ ...about, message }] };
  }
  const neither = about.code === "NOT_PUBLISHED" ? missing : `${missing} and no production version`;
  return { version: null, tag: null, warnings: [{ ...about, message: `${neither}.` }] };
}

/** Like `selectVersion`, but the newest version stands in when none serves, so that there is always a description. */
export function selectVersionToDescribe<Version extends NamedVersion>(
  prompt: Selectable<Version>,
  choice: VersionChoice,
): Selection<Version> {
  const selection = selectVersion(prompt, choice);
  const newest = prompt.versions.at(-1);
  if (selection.version) return selection;
  if (!newest) {
    const message = `Prompt ${quoted(prompt.slug)} has no version yet.`;
    return { ...selection, warnings: [{ code: "NOT_PUBLISHED", message, path: "slug" }] };
  }
  const standIn = `Its newest version ${quoted(newest.version)} is described.`;
  const warnings = selection.warnings.map((one) => ({ ...one, message: `${one.message} ${standIn}` }));
  return { version: newest, tag: LATEST, warnings };
}

function versionTagged<Version extends NamedVersion>({ versions, tags }: Selectable<Version>, label: string) {
  if (label === LATEST) return versions.at(-1) ?? null;
  const tag = tags.find((candidate) => candidate.label === label);
  return versions.find(({ id }) => id === tag?.versionId) ?? null;
}

function missingChoice({ version, tag }: VersionChoice): Omit<Warning, "message"> & { what: string } {
  if (version) return { what: `no version ${quoted(version)}`, code: "VERSION_NOT_FOUND", path: "version" };
  if (tag && tag !== PRODUCTION) return { what: `no tag ${quoted(tag)}`, code: "TAG_NOT_FOUND", path: "tag" };
  return { what: "no production version", code: "NOT_PUBLISHED", path: tag ? "tag" : "slug" };
}
