import { quoted } from "../errors.ts";
import type { VersionChoice } from "./inputs.ts";

export const PRODUCTION = "production";
/** Follows the newest version by itself and is never stored. */
export const LATEST = "latest";

/** A prompt as far as choosing a version needs it. */
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

/** The tags of a prompt by name, `latest` among them as soon as there is a version. */
export function availableTags({ versions, tags }: Selectable): string[] {
  return versions.length === 0 ? [] : [...tags.map(({ label }) => label), LATEST].toSorted();
}

/**
 * The version that serves: the one asked for, else the production version, else none. A warning says when what was
 * asked for is not there, and which version serves in its place.
 */
export function selectVersion<Version extends NamedVersion>(
  prompt: Selectable<Version>,
  choice: VersionChoice,
): Selection<Version> {
  const production = versionTagged(prompt, PRODUCTION);
  const wanted = choice.version ?? choice.tag ?? PRODUCTION;
  const asked = choice.version
    ? (prompt.versions.find(({ version }) => version === choice.version) ?? null)
    : versionTagged(prompt, wanted);
  if (asked) return { version: asked, tag: choice.version ? null : wanted, warning: null };

  const missing = `Prompt ${quoted(prompt.slug)} has ${missingChoice(choice)}`;
  if (production) {
    const warning = `${missing}; the production version ${quoted(production.version)} was used instead.`;
    return { version: production, tag: PRODUCTION, warning };
  }
  const neither = wanted === PRODUCTION && !choice.version ? missing : `${missing} and no production version`;
  return { version: null, tag: null, warning: `${neither}.` };
}

/** Like `selectVersion`, but where none serves the newest version stands in: a description always shows something. */
export function selectVersionToDescribe<Version extends NamedVersion>(
  prompt: Selectable<Version>,
  choice: VersionChoice,
): Selection<Version> {
  const selection = selectVersion(prompt, choice);
  const newest = prompt.versions.at(-1);
  if (selection.version) return selection;
  if (!newest) return { ...selection, warning: `Prompt ${quoted(prompt.slug)} has no version yet.` };
  const stoodIn = `Its newest version ${quoted(newest.version)} is described.`;
  return { version: newest, tag: LATEST, warning: `${selection.warning} ${stoodIn}` };
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
