import { type CompiledQuery, sql } from "kysely";
import type { Context } from "../context.ts";
import { inTurn, MAX_STATEMENT_BYTES } from "../database/lengths.ts";
import type { Database } from "../database/open.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { authorize } from "../workspaces/resolvers.ts";
import {
  ANY_VERSION,
  contentsOf,
  type ReadOptions,
  type RowColumn,
  readEntries,
  type StoredRow,
  selected,
  TEXTS,
} from "./contents.resolvers.ts";
import { isIn, walkEntries } from "./entries.resolvers.ts";
import type { DatasetHead } from "./resolvers.ts";
import { getState, isNewest } from "./versions.resolvers.ts";

const MAX_ROWS_IN_PIECE = 500;
/** Shorter texts are read with their page; longer ones afterwards, in pieces bounded by their lengths. */
const MAX_SHORT_TEXT_BYTES = 4_096;

export interface StoredRange extends ReadOptions {
  after: string | null;
  limit: number;
  /** The first page, where it is read already. */
  firstPage?: PageRow[];
}

type Text = (typeof TEXTS)[number];

/**
 * The rows of a dataset as stored, in their order: in non-empty pieces of a few megabytes or of one row. Where `parent` has a
 * version they are exactly its rows, also when the dataset changes meanwhile.
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
    yield* withLongTexts(context, parent, { page, texts, hold });
    if (page.length < size) return;
    left -= page.length;
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
  { id, version }: DatasetHead,
  { after, limit, ...options }: StoredRange,
): AsyncGenerator<StoredRow[]> {
  let left = limit;
  for await (const entries of walkEntries(context, { datasetId: id, after, isWanted: isIn(version!) })) {
    const byRow = new Map(entries.map((entry) => [entry.row, entry]));
    const some = [...byRow.values()].slice(0, left);
    left -= some.length;
    for await (const piece of readEntries(context, some, options)) yield [...piece.values()];
    if (left <= 0) return;
  }
}

/** A row of a page, still without its long texts. */
type PageRow = StoredRow & { bytes: number; ofDataset?: number | string };

/** What a page reads of its dataset. In its own statement: a change between two would show rows of two versions. */
type Along = "version" | "versions" | null;

/** Whether the rows of a page are those of the version that is read. */
async function isOfVersion(context: Context, parent: DatasetHead, [first]: PageRow[]): Promise<boolean> {
  return first && parent.version !== undefined
    ? Number.parseInt(String(first.ofDataset), 10) === parent.version
    : isNewest(context, parent);
}

interface Page {
  after: string | null;
  size: number;
  columns: readonly RowColumn[];
  texts: Text[];
  along: Along;
}

async function readPage(context: Context, parent: DatasetHead, page: Page): Promise<PageRow[]> {
  const { after, size, along } = page;
  checkDeadline(context);
  const compiled = compiledQuery(context, parent, page);
  const place = [authorize(context, "read"), parent.id];
  const parameters = [...(along ? place : []), ...place, ...(after === null ? [] : [after]), size];
  const query = { compile: () => ({ ...compiled, parameters }) };
  return inTurn(context, () => {
    checkDeadline(context); // it may have waited for its turn
    return context.database.rows(query);
  });
}

const compiledQueries = new WeakMap<Database["orm"], Map<string, CompiledQuery<PageRow>>>();

/** Cached: compiling the query takes longer than reading a few rows, and only its parameters differ between pages. */
function compiledQuery(context: Context, parent: DatasetHead, page: Page): CompiledQuery<PageRow> {
  const { orm } = context.database;
  const cache = compiledQueries.get(orm) ?? new Map<string, CompiledQuery<PageRow>>();
  compiledQueries.set(orm, cache);
  const key = [page.after === null, page.along, ...page.columns].join();
  const compiled = cache.get(key) ?? queryOf(context, parent, page).$castTo<PageRow>().compile();
  cache.set(key, compiled);
  return compiled;
}

function queryOf(context: Context, parent: DatasetHead, { after, size, columns, texts, along }: Page) {
  const plain = columns.filter((column) => !texts.includes(column as Text));
  const query = rowsOf(context, parent)
    .select(["id as id", ...plain.map((column) => `${column} as ${column}` as const)])
    .select(({ ref }) => {
      const length = (text: Text) => sql<number>`octet_length(${ref(text)})`;
      const lengths = texts.map((text) => sql<number>`coalesce(${length(text)}, 0)`);
      const ifShort = (text: Text) =>
        sql`case when ${length(text)} <= ${sql.lit(MAX_SHORT_TEXT_BYTES)} then ${ref(text)} end`.as(text);
      return [
        ...(along ? [datasetOf(context, parent).select(ALONG[along]).as("ofDataset")] : []),
        sql<number>`${sql.join([sql.lit(0), ...lengths], sql` + `)}`.as("bytes"),
        ...texts.map(ifShort),
      ];
    });
  return (after === null ? query : query.where("id", ">", after)).orderBy("id").limit(size);
}

/** Two versions in one column, as a second look-up of the dataset takes as long as the first. */
const ALONG = {
  version: sql<number | string>`${sql.ref("version")}`.as("version"),
  versions: sql<number | string>`${sql.ref("version")} || ' ' || ${sql.ref("columnsVersion")}`.as("versions"),
};

function datasetOf(context: Context, parent: DatasetHead) {
  return context.database.read
    .selectFrom("Dataset")
    .where("workspace", "=", authorize(context, "read"))
    .where("id", "=", parent.id);
}

function rowsOf(context: Context, parent: DatasetHead) {
  return context.database.read
    .selectFrom("DatasetRow")
    .where("workspace", "=", authorize(context, "read"))
    .where("dataset", "=", parent.id);
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
    const isLong = row.bytes > MAX_SHORT_TEXT_BYTES;
    if (isLong && long.length > 0 && longBytes + row.bytes > MAX_STATEMENT_BYTES) {
      yield await complete();
      [piece, long, longBytes] = [[], [], 0];
    }
    piece.push(row);
    if (!isLong) continue;
    long.push(row);
    longBytes += row.bytes;
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
    if (row.bytes <= MAX_SHORT_TEXT_BYTES) return [row];
    const texts = byId.get(row.id); // undefined when the row was deleted since
    return texts ? [{ ...row, ...texts }] : []; // a copy: the page would keep the long texts of all its rows
  });
}
