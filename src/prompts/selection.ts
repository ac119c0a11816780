import { quoted } from "../errors.ts";
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
  warning: string | null;
}

/** The labels of a prompt's tags in order, including `latest` once there is a version. */
export function availableTags({ versions, tags }: Pick<Selectable, "versions" | "tags">): string[] {
  return versions.length === 0 ? [] : [...tags.map(({ label }) => label), LATEST].toSorted();
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
  if (match) return { version: match, tag: choice.version ? null : label, warning: null };

  const missing = `Prompt ${quoted(prompt.slug)} has ${missingChoice(choice)}`;
  if (production) {
    const warning = `${missing}; the production version ${quoted(production.version)} was used instead.`;
    return { version: production, tag: PRODUCTION, warning };
  }
  const neither = label === PRODUCTION && !choice.version ? missing : `${missing} and no production version`;
  return { version: null, tag: null, warning: `${neither}.` };
}

/** Like `selectVersion`, but the newest version stands in when none serves, so that there is always a description. */
export function selectVersionToDescribe<Version extends NamedVersion>(
  prompt: Selectable<Version>,
  choice: VersionChoice,
): Selection<Version> {
  const selection = selectVersion(prompt, choice);
  const newest = prompt.versions.at(-1);
  if (selection.version) return selection;
  if (!newest) return { ...selection, warning: `Prompt ${quoted(prompt.slug)} has no version yet.` };
  const standIn = `Its newest version ${quoted(newest.version)} is described.`;
  return { version: newest, tag: LATEST, warning: `${selection.warning} ${standIn}` };
}

function versionTagged<Version extends NamedVersion>({ versions, tags }: Selectable<Version>, label: string) {
  if (label === LATEST) return versions.at(-1) ?? null;
  const tag = tags.find((candidate) => candidate.label === label);
  return versions.find(({ id }) => id === tag?.versionId) ?? null;
}

function missingChoice({ version, tag }: VersionChoice): string {
  if (version) return `no version ${quoted(version)}`;
  return tag && tag !== PRODUCTION ? `no tag ${quoted(tag)}` : "no production version";
}
