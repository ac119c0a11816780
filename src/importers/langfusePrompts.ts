import { isDeepStrictEqual } from "node:util";
import { isObject } from "../formats/rows.ts";
import type { Entry, ImportedVersion, Place } from "./entries.ts";
import { resolveReferences, type Versions } from "./langfuseReferences.ts";
import { slugOf } from "./slugs.ts";
import { fromMustache } from "./templates/mustache.ts";
import { textIn, textsIn, toModel } from "./values.ts";

/** A version of a prompt as Langfuse exports it. */
export interface CollectedPrompt {
  place: Place;
  value: Record<string, unknown>;
}

/** The label that follows the newest version by itself, here as there. */
const LATEST = "latest";

/** The prompts of an export, each with its versions in order and its labels as tags. */
export function* langfusePrompts(collected: CollectedPrompt[]): Generator<Entry> {
  const byName = new Map<string, Map<number, CollectedPrompt>>();
  for (const each of collected) {
    const name = textIn(each.value, "name") ?? "";
    const version = Number(each.value.version);
    const versions = byName.get(name) ?? new Map<number, CollectedPrompt>();
    const other = versions.get(version);
    byName.set(name, versions);
    if (!Number.isInteger(version) || name === "") yield refuse(each.place, "has no name or no version");
    else if (!other) versions.set(version, each);
    else if (!isDeepStrictEqual(other.value.prompt, each.value.prompt))
      yield refuse(
        each.place,
        `differs from the same version in ${other.place.file}, line ${other.place.line}`,
      );
  }
  for (const [name, versions] of byName) yield* promptEntries(name, versions, byName);
}

const refuse = ({ file, line }: Place, reason: string): Entry => ({ kind: "refused", file, line, reason });

function* promptEntries(
  name: string,
  versions: Map<number, CollectedPrompt>,
  all: Versions,
): Generator<Entry> {
  const converted: ImportedVersion[] = [];
  const tags: [string, string][] = [];
  const sorted = [...versions].toSorted(([a], [b]) => a - b);
  for (const [number, { place, value }] of sorted) {
    const result = versionOf({ place, value }, all);
    if ("reason" in result) {
      yield refuse(place, `version ${number} of prompt "${name}": ${result.reason}`);
      continue;
    }
    yield* leftOutOf(value);
    converted.push(result);
    for (const label of textsIn(value, "labels")) if (label !== LATEST) tags.push([label, String(number)]);
  }
  const [first] = sorted;
  if (!first) return;
  const { file, line } = first[1].place;
  if (converted.length > 0)
    yield { kind: "prompt", file, line, slug: slugOf(name), name, versions: converted, tags };
}

function* leftOutOf(value: Record<string, unknown>): Generator<Entry> {
  if (textIn(value, "commitMessage")) yield { kind: "leftOut", what: "commit messages" };
  if (textsIn(value, "tags").length > 0)
    yield { kind: "leftOut", what: "tags of prompts (not their labels)" };
  const { config } = value;
  const hasConfig = isObject(config) && Object.keys(config).length > 0;
  if (hasConfig && !toModel(config)) yield { kind: "leftOut", what: "configurations that name no model" };
}

function versionOf({ place, value }: CollectedPrompt, all: Versions): ImportedVersion | { reason: string } {
  const { file, line } = place;
  const { prompt, config } = value;
  const version = {
    ...{ file, line },
    version: String(value.version),
    ...(isObject(config) && { model: toModel(config) }),
  };
  if (typeof prompt === "string") {
    const text = convert(prompt, all);
    return "reason" in text ? text : { ...version, ...text };
  }
  if (!Array.isArray(prompt)) return { reason: "is neither a text nor a chat" };
  const messages: unknown[] = [];
  for (const message of prompt) {
    if (!isObject(message)) return { reason: "has a message that is no object" };
    if (message.type === "placeholder") {
      messages.push({ placeholder: message.name });
      continue;
    }
    const { role, content } = message;
    const text = typeof content === "string" ? convert(content, all) : { reason: NO_TEXT };
    if ("reason" in text) return { reason: `message ${messages.length + 1}: ${text.reason}` };
    messages.push({ role, content: text.text });
  }
  return { ...version, messages };
}

const NO_TEXT = "its content is no text";

function convert(template: string, all: Versions): { text: string } | { reason: string } {
  const resolved = resolveReferences(template, all);
  if ("reason" in resolved) return resolved;
  const converted = fromMustache(resolved.text);
  if ("text" in converted) return converted;
  return { reason: `line ${converted.line} of its text: ${converted.reason}` };
}
