import type { Context } from "../context.ts";
import { inTurn } from "../database/lengths.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { authorize } from "../workspaces/resolvers.ts";

/** What a row holds from one version of its dataset until another, or until today. */
export interface Entry {
  /** The id of the row. */
  row: string;
  version: number;
  /** The version that replaced it or deleted the row; null for what the row holds. */
  until: number | null;
}

/** Entries that one statement reads, of an index alone. */
const MAX_ENTRIES = 2_000;

interface Walk {
  datasetId: string;
  /** Begins after this row. */
  after: string | null;
  isWanted: (entry: Entry) => boolean;
}

/** Whether an entry belongs to a version of its dataset. */
export const isIn =
  (wanted: number) =>
  ({ version, until }: Entry): boolean =>
    version <= wanted && (until === null || until > wanted);

const walking = new WeakMap<Context, Promise<void>>();

/**
 * The wanted entries of a dataset in non-empty pieces, in the order of their rows; all entries of a row are in one piece. Rows
 * are read before their revisions, so that a change meanwhile hides no entry; it may show one twice. A request walks one version
 * after another, and so has to end each walk before it waits for the next.
 */
export async function* walkEntries(context: Context, walk: Walk): AsyncGenerator<Entry[]> {
  const earlier = walking.get(context);
  const { promise, resolve: end } = Promise.withResolvers<void>();
  walking.set(context, promise);
  try {
    await earlier;
    yield* walkAlone(context, walk);
  } finally {
    end();
  }
}

async function* walkAlone(context: Context, walk: Walk): AsyncGenerator<Entry[]> {
  let { after } = walk;
  for (;;) {
    const { wanted, end } = await nextRows(context, { ...walk, after });
    yield* withRevisions(context, { ...walk, after }, { wanted, end });
    if (end === null) return;
    after = end;
  }
}

async function* withRevisions(context: Context, walk: Walk, { wanted, end }: Rows): AsyncGenerator<Entry[]> {
  let held = wanted;
  let after = walk.after === null ? "" : afterRevisionsOf(walk.after);
  for (;;) {
    const revisions = await nextRevisions(context, walk, { after, end });
    const last = revisions.at(-1);
    const isLast = revisions.length < MAX_ENTRIES;
    held.push(...revisions.filter(walk.isWanted));
    const complete = isLast ? held : held.filter(({ row }) => row < last!.row);
    if (complete.length > 0) yield complete.toSorted((a, b) => (a.row < b.row ? -1 : 1));
    if (isLast) return;
    held = held.filter(({ row }) => row >= last!.row);
    after = revisionId(last!);
  }
}

interface Rows {
  wanted: Entry[];
  /** The last of those that were read, where others follow. */
  end: string | null;
}

/** Keeps none that is not wanted. */
async function nextRows(context: Context, { datasetId, after, isWanted }: Walk): Promise<Rows> {
  checkDeadline(context);
  const rows = context.database.read
    .selectFrom("DatasetRow")
    .select(["id as row", "version as version"])
    .where("workspace", "=", authorize(context, "read"))
    .where("dataset", "=", datasetId)
    .orderBy("id")
    .limit(MAX_ENTRIES);
  const query = after === null ? rows : rows.where("id", ">", after);
  const found = await inTurn(context, () => context.database.rows(query));
  const entries = found.map(({ row, version }) => ({ row, version: Number(version), until: null }));
  return {
    wanted: entries.filter(isWanted),
    end: entries.length < MAX_ENTRIES ? null : entries.at(-1)!.row,
  };
}

async function nextRevisions(
  context: Context,
  { datasetId }: Walk,
  { after, end }: { after: string; end: string | null },
): Promise<Entry[]> {
  checkDeadline(context);
  const revisions = context.database.read
    .selectFrom("DatasetRowRevision")
    .select(["id as id", "version as version", "until as until"])
    .where("workspace", "=", authorize(context, "read"))
    .where("dataset", "=", datasetId)
    .where("id", ">", after)
    .orderBy("id")
    .limit(MAX_ENTRIES);
  const query = end === null ? revisions : revisions.where("id", "<", afterRevisionsOf(end));
  const found = await inTurn(context, () => context.database.rows(query));
  return found.map(({ id, version, until }) => ({
    row: rowOf(id),
    version: Number(version),
    until: Number(until),
  }));
}

const ID_CHARACTERS = 36;
const UNTIL_DIGITS = 10;

/** The id of the revision that holds an entry, as the triggers of the database make it. */
export const revisionId = ({ row, until }: Pick<Entry, "row" | "until">): string =>
  `${row}@${String(until).padStart(UNTIL_DIGITS, "0")}`;

/** The row of the revision with that id. */
export const rowOf = (id: string): string => id.slice(0, ID_CHARACTERS);

/** Follows the ids of all revisions of a row: A comes after @. */
export const afterRevisionsOf = (row: string): string => `${row}A`;
