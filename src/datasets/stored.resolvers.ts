import type { Context } from "../context.ts";
import { MAX_STATEMENT_BYTES } from "../database/lengths.ts";
import {
  ANY_VERSION,
  contentsOf,
  type ReadOptions,
  readEntries,
  type StoredRow,
  selected,
  TEXTS,
} from "./contents.resolvers.ts";
import { isIn, walkEntries } from "./entries.resolvers.ts";
import type { DatasetHead } from "./resolvers.ts";
import {
  type Along,
  MAX_SHORT_TEXT_BYTES,
  type PageRow,
  passedBytes,
  readPage,
  type Text,
} from "./rowPages.resolvers.ts";
import { getState, isNewest, refuseDeleted } from "./versions.resolvers.ts";

const MAX_ROWS_IN_PIECE = 500;

export interface StoredRange extends ReadOptions {
  after: string | null;
  limit: number;
  /** The first page, where it is read already. */
  firstPage?: PageRow[];
}

/**
 * The rows of a dataset as stored, in their order: in non-empty pieces of a few megabytes or of one row. Where `parent` has a
 * version they are exactly its rows, also when the dataset changes meanwhile. DATASET_NOT_FOUND when it is deleted meanwhile.
 */
export async function* storedRows(
  context: Context,
  parent: DatasetHead,
  { after, limit, columns, spend = () => {}, hold = () => {}, firstPage }: StoredRange,
): AsyncGenerator<StoredRow[]> {
  const texts = TEXTS.filter((column) => columns.includes(column));
  const along: Along = parent.version === undefined ? null : "version";
  let last = after;
  let left = limit;
  while (left > 0) {
    const size = Math.min(left, MAX_ROWS_IN_PIECE);
    const reading = { after: last, size, columns, texts, along };
    const page =
      last === after && firstPage
        ? firstPage
        : parent.isOld
          ? null
          : await readPage(context, parent, reading);
    if (!page || !(await isOfVersion(context, parent, page))) {
      yield* oldRows(context, parent, { after: last, limit: left, columns, spend, hold });
      return;
    }
    for (const { bytes } of page) spend(Number(bytes));
    let found = 0; // fewer than the page has where rows were deleted before their long texts were read
    for await (const piece of withLongTexts(context, parent, { page, texts, hold })) {
      found += piece.length;
      if (piece.length > 0) yield piece;
    }
    left -= found;
    if (page.length < size) {
      if (last !== after || found < page.length) await refuseDeleted(context, parent); // else one statement read all
      return;
    }
    last = page.at(-1)!.id;
  }
}

/**
 * All newest rows of a dataset, with the version that they are of: the statement of the first page reads it along, as one more
 * would cost half as much again for a small dataset.
 */
export async function openRows(
  context: Context,
  parent: DatasetHead,
  options: ReadOptions,
): Promise<{ parent: DatasetHead; rows: AsyncGenerator<StoredRow[]> }> {
  const range = { ...options, after: null, limit: Number.POSITIVE_INFINITY };
  if (parent.version !== undefined) return { parent, rows: storedRows(context, parent, range) };
  const { columns } = options;
  const texts = TEXTS.filter((column) => columns.includes(column));
  const page = { after: null, size: MAX_ROWS_IN_PIECE, columns, texts, along: "versions" } as const;
  const firstPage = await readPage(context, parent, page);
  const [version, columnsVersion] = String(firstPage[0]?.ofDataset).split(" ").map(Number);
  if (!version || columnsVersion !== parent.columnsVersion) {
    const state = await getState(context, parent.slug); // the columns may have been changed since they were cached
    return { parent: state, rows: storedRows(context, state, range) };
  }
  const state = { ...parent, version };
  return { parent: state, rows: storedRows(context, state, { ...range, firstPage }) };
}

/** Rows of a version that is not the newest. */
async function* oldRows(
  context: Context,
  parent: DatasetHead,
  { after, limit, ...options }: StoredRange,
): AsyncGenerator<StoredRow[]> {
  let left = limit;
  const walk = { datasetId: parent.id, after, isWanted: isIn(parent.version!) };
  for await (const entries of walkEntries(context, walk)) {
    const byRow = new Map(entries.map((entry) => [entry.row, entry]));
    const some = [...byRow.values()].slice(0, left);
    for await (const piece of readEntries(context, some, options)) {
      left -= piece.size;
      yield [...piece.values()];
    }
    if (left <= 0) return;
  }
  await refuseDeleted(context, parent);
}

/** Whether the rows of a page are those of the version that is read. */
async function isOfVersion(context: Context, parent: DatasetHead, [first]: PageRow[]): Promise<boolean> {
  return first && parent.version !== undefined
    ? Number.parseInt(String(first.ofDataset), 10) === parent.version
    : isNewest(context, parent);
}

interface LongTexts {
  page: PageRow[];
  texts: Text[];
  hold: (bytes: number) => void;
}

/** The rows of a page with their long texts, in pieces that each bound the bytes of long texts. */
async function* withLongTexts(
  context: Context,
  { version }: DatasetHead,
  { page, texts, hold }: LongTexts,
): AsyncGenerator<StoredRow[]> {
  let piece: PageRow[] = [];
  let long: PageRow[] = [];
  let longBytes = 0;
  const complete = () => {
    hold(piece.reduce((sum, { bytes }) => sum + bytes, 0));
    return fill(context, { piece, long, texts, version });
  };
  for (const row of page) {
    const bytes = passedBytes(row);
    const isLong = bytes > MAX_SHORT_TEXT_BYTES;
    if (isLong && long.length > 0 && longBytes + bytes > MAX_STATEMENT_BYTES) {
      yield await complete();
      [piece, long, longBytes] = [[], [], 0];
    }
    piece.push(row);
    if (!isLong) continue;
    long.push(row);
    longBytes += bytes;
  }
  if (piece.length > 0) yield await complete();
}

interface Piece {
  piece: PageRow[];
  long: PageRow[];
  texts: Text[];
  version: number | undefined;
}

async function fill(context: Context, { piece, long, texts, version = ANY_VERSION }: Piece) {
  if (long.length === 0) return piece;
  const entries = long.map(({ id }) => ({ row: id, version, until: null }));
  const read = await contentsOf<Pick<StoredRow, Text>>(context, entries, selected(texts));
  const byId = new Map([...read.values()].map((row) => [row.id, row]));
  return piece.flatMap((row) => {
    if (passedBytes(row) <= MAX_SHORT_TEXT_BYTES) return [row];
    const texts = byId.get(row.id); // undefined when the row was deleted since
    return texts ? [{ ...row, ...texts }] : []; // a copy: the page would keep the long texts of all its rows
  });
}
