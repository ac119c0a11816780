import { createHash } from "node:crypto";
import { basename } from "node:path";
import { isObject } from "../formats/rows.ts";
import type { Entry, ImportedVersion } from "./entries.ts";
import { fromManifest } from "./langchainManifest.ts";
import type { FileRecord } from "./records.ts";
import { slugOf } from "./slugs.ts";
import { textIn } from "./values.ts";

/** The prompts of an export, each with its commits in the order of their times, and its tags. */
export function* langsmithPrompts(records: FileRecord[]): Generator<Entry> {
  for (const [name, ofPrompt] of Map.groupBy(records, nameOf)) {
    const versions = new Map<string, ImportedVersion>();
    const tags: [string, string][] = [];
    for (const { file, line, value } of ofPrompt.toSorted((a, b) => (timeOf(a) < timeOf(b) ? -1 : 1))) {
      const tag = textIn(value, "tag_name");
      if (tag) {
        tags.push([tag, textIn(value, "commit_hash") ?? ""]);
        continue;
      }
      const manifest = isObject(value.manifest) ? value.manifest : value;
      const version = textIn(value, "commit_hash") ?? hashOf(manifest);
      if (versions.has(version)) continue;
      const { leftOut = [], ...content } = fromManifest(manifest);
      for (const what of leftOut) yield { kind: "leftOut", what };
      if ("reason" in content)
        yield { kind: "refused", file, line, reason: `prompt "${name}": ${content.reason}` };
      else versions.set(version, { file, line, version, ...content });
    }
    const [first] = ofPrompt;
    if (first && versions.size + tags.length > 0)
      yield {
        kind: "prompt",
        ...{ file: first.file, line: first.line, slug: slugOf(name), name },
        versions: [...versions.values()],
        tags,
      };
  }
}

/** The repository of a commit, else the name of its file. */
const nameOf = ({ file, value }: FileRecord): string =>
  textIn(value, "repo") ?? basename(file).split(".", 1)[0]!;

const timeOf = ({ value }: FileRecord): string => textIn(value, "created_at") ?? "";

const HASH_DIGITS = 12;

const hashOf = (manifest: object): string =>
  createHash("sha256").update(JSON.stringify(manifest)).digest("hex").slice(0, HASH_DIGITS);
