import type { Context } from "../context.ts";
import { badInput } from "../errors.ts";
import { lengthOf, readByLength } from "./lengths.ts";
import { createLoader } from "./loader.ts";
import { runWithPauses } from "./pauses.ts";

/**
 * Protected tags are in the row of their prompt or dataset, and each new version of a dataset changes it: a commit of 200 first rows
 * wrote 150 MB where each of 200 datasets had 1,000 of 124 control characters.
 */
const MOST = { tags: 1_000, "protected tags": 100 };

/** Throws BAD_INPUT when a prompt or dataset has as many tags, or protected ones, as it may have. */
export function refuseMoreTags(count: number, what: keyof typeof MOST, owner: "prompt" | "dataset"): void {
  if (count < MOST[what]) return;
  throw badInput([{ path: "tag", message: `cannot be added: a ${owner} has at most ${MOST[what]} ${what}` }]);
}

/** Sorts lists by their labels, in the order of texts in both databases: that of their bytes. Pauses between two lists. */
export function sortByLabel<Entry extends { label: string }>(
  context: Context,
  lists: Entry[][],
): Promise<Entry[][]> {
  return runWithPauses(context, context.access!.workspaceId, sorted(lists));
}

function* sorted<Entry extends { label: string }>(lists: Entry[][]): Generator<void, Entry[][]> {
  const results: Entry[][] = [];
  for (const list of lists) {
    const entries = list.map((entry) => ({ entry, bytes: Buffer.from(entry.label) }));
    results.push(entries.toSorted((a, b) => Buffer.compare(a.bytes, b.bytes)).map(({ entry }) => entry));
    yield;
  }
  return results;
}

/** The protected tags of prompts or of datasets by their ids, by name; those of the workspace that `workspaceOf` gives. */
export function createProtectedTagsLoader(
  entity: "Prompt" | "Dataset",
  workspaceOf: (context: Context) => string,
): (context: Context, id: string) => Promise<string[]> {
  return createLoader(async (context, all) => {
    const withIds = (ids: string[]) =>
      context.database.read
        .selectFrom(entity as "Prompt")
        .where("workspace", "=", workspaceOf(context))
        .where("id", "in", ids);
    const rows = await readByLength(context, all, {
      measure: (ids) =>
        withIds(ids)
          .select(["id", lengthOf("protectedTags").as("bytes")])
          .execute(),
      read: (ids) => withIds(ids).select(["id", "protectedTags"]).execute(),
    });
    return all.map((id) => rows.get(id)?.protectedTags ?? []);
  });
}
