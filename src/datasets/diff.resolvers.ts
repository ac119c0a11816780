import { isDeepStrictEqual } from "node:util";
import type { Context } from "../context.ts";
import { runWithPauses } from "../database/pauses.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { keyOf } from "./columns.ts";
import { ROW_COLUMNS, readEntries, type StoredRow } from "./contents.resolvers.ts";
import type { Column } from "./entities.ts";
import { type Entry, isIn, walkEntries } from "./entries.resolvers.ts";
import type { DatasetInput } from "./inputs.ts";
import { rowParser } from "./parsing.ts";
import type { DatasetHead, Row } from "./resolvers.ts";
import { getWithTags, pin, refuseDeleted } from "./versions.resolvers.ts";

/** What two versions do not have alike; one of them may not have it at all. */
export interface Change<Changed> {
  before: Changed | null;
  after: Changed | null;
}

export interface RowChange extends Change<Row> {
  /** The id of the row. */
  id: string;
}

interface DatasetDiffInput {
  slug: string;
  from: Omit<DatasetInput, "slug">;
  to: Omit<DatasetInput, "slug">;
}

/** Two versions of a dataset to compare. */
export interface DatasetDiff {
  from: DatasetHead;
  to: DatasetHead;
}

/** Changes that are read together: both sides of each are in memory. */
const MAX_CHANGES_IN_PIECE = 100;

/** Two versions of a dataset. DATASET_NOT_FOUND, VERSION_NOT_FOUND or TAG_NOT_FOUND for what is not there. */
export async function datasetDiff(
  context: Context,
  { slug, from, to }: DatasetDiffInput,
): Promise<DatasetDiff> {
  const tagged = await getWithTags(context, slug, [from, to]);
  return { from: await pin(context, tagged, from), to: await pin(context, tagged, to) };
}

/** The columns in which two versions differ by name or type; a column that was removed and came back is the same one. */
export function columnChanges({ from, to }: DatasetDiff): Change<Column>[] {
  const [before, after] = [columnsByKey(from), columnsByKey(to)];
  return [...new Set([...before.keys(), ...after.keys()])]
    .map((key) => ({ before: before.get(key) ?? null, after: after.get(key) ?? null }))
    .filter(({ before, after }) => before?.name !== after?.name || before?.type !== after?.type);
}

const columnsByKey = ({ columns }: DatasetHead) => new Map(columns.map((column) => [keyOf(column), column]));

interface RowChangesInput {
  after?: string | null | undefined;
  limit: number;
}

/** A page of the rows in which two versions differ, in the order of their ids. */
export async function rowChanges(
  context: Context,
  diff: DatasetDiff,
  { after = null, limit }: RowChangesInput,
): Promise<RowChange[]> {
  const [isBefore, isAfter] = [isIn(diff.from.version!), isIn(diff.to.version!)];
  const isWanted = (entry: Entry) => isBefore(entry) !== isAfter(entry);
  const changes: RowChange[] = [];
  let unchanged = 0; // these make pieces larger: 10,000 rows that were stored as they were took 4 s, two at a time
  for await (const entries of walkEntries(context, { datasetId: diff.from.id, after, isWanted })) {
    const sides = [...Map.groupBy(entries, ({ row }) => row).values()].map((ofRow) => ({
      before: ofRow.find(isBefore),
      after: ofRow.find(isAfter),
    }));
    for (let from = 0; from < sides.length; ) {
      const size = Math.min(MAX_CHANGES_IN_PIECE, limit - changes.length + unchanged);
      const piece = sides.slice(from, from + size);
      const found = await readChanges(context, diff, piece);
      changes.push(...found);
      if (changes.length >= limit) return changes.slice(0, limit);
      from += piece.length;
      unchanged += piece.length - found.length;
    }
  }
  await refuseDeleted(context, diff.from);
  return changes;
}

interface Sides {
  before: Entry | undefined;
  after: Entry | undefined;
}

/** The changes of some rows, without those that hold the same again. */
async function readChanges(context: Context, diff: DatasetDiff, sides: Sides[]): Promise<RowChange[]> {
  const entries = sides.flatMap(({ before, after }) =>
    [before, after].filter((entry) => entry !== undefined),
  );
  const contents = new Map<Entry, StoredRow>();
  const spend = (bytes: number) => spendAnswerBytes(context, bytes);
  for await (const piece of readEntries(context, entries, { columns: ROW_COLUMNS, spend }))
    for (const [entry, content] of piece) contents.set(entry, content);
  if (contents.size < entries.length) await refuseDeleted(context, diff.from);
  return runWithPauses(context, authorize(context, "read"), toChanges(context, diff, sides, contents));
}

function* toChanges(
  context: Context,
  diff: DatasetDiff,
  sides: Sides[],
  contents: Map<Entry, StoredRow>,
): Generator<void, RowChange[]> {
  const [parseBefore, parseAfter] = [rowParser(context, diff.from), rowParser(context, diff.to)];
  const changes: RowChange[] = [];
  for (const { before, after } of sides) {
    yield;
    const [old, now] = [before && contents.get(before), after && contents.get(after)];
    if (old && now && ROW_COLUMNS.every((column) => isDeepStrictEqual(old[column], now[column]))) continue;
    changes.push({
      id: (before ?? after)!.row,
      before: old ? parseBefore(old).row : null,
      after: now ? parseAfter(now).row : null,
    });
  }
  return changes;
}
