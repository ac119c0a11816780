import { type CompiledQuery, sql } from "kysely";
import type { Context } from "../context.ts";
import { inTurn, MAX_STATEMENT_BYTES } from "../database/lengths.ts";
import type { Database } from "../database/open.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { DatasetHead, Row } from "./resolvers.ts";

const MAX_ROWS_IN_PIECE = 500;
/** Shorter texts are read with their page; longer ones afterwards, in pieces bounded by their lengths. */
const MAX_SHORT_TEXT_BYTES = 4_096;

export const ROW_COLUMNS = [
  "name",
  "key",
  "logId",
  "values",
  "idealOutput",
  "metadata",
  "createdAt",
] as const satisfies Exclude<keyof Row, "id">[];
export type RowColumn = (typeof ROW_COLUMNS)[number];

/** A row as stored, with the requested columns: `values` and `metadata` are texts of JSON. */
export type StoredRow = Omit<Row, "values" | "metadata"> & { values: string; metadata: string | null };

export interface StoredRange {
  after: string | null;
  limit: number;
  columns: readonly RowColumn[];
  /** Called with the length of each row before it is read; throws when the budget is spent. */
  spend?: (bytes: number) => void;
  /** Called with the bytes of each piece before its long texts are read; throws when there is no memory for it. */
  hold?: (bytes: number) => void;
}

const TEXTS = ["name", "values", "idealOutput", "metadata"] as const;
type Text = (typeof TEXTS)[number];

/** The rows of a dataset as stored, in their order: in non-empty pieces of a few megabytes or of one row. */
export async function* storedRows(
  context: Context,
  parent: DatasetHead,
  { after, limit, columns, spend = () => {}, hold = () => {} }: StoredRange,
): AsyncGenerator<StoredRow[]> {
  const texts = TEXTS.filter((column) => columns.includes(column));
  let last = after;
  let left = limit;
  while (left > 0) {
    const size = Math.min(left, MAX_ROWS_IN_PIECE);
    checkDeadline(context);
    const page = await inTurn(context, () =>
      readPage(context, parent, { after: last, size, columns, texts }),
    );
    for (const { bytes } of page) spend(Number(bytes));
    yield* withLongTexts(context, parent, { page, texts, hold });
    if (page.length < size) return;
    left -= page.length;
    last = page.at(-1)!.id;
  }
}

/** A row of a page, still without its long texts. */
type PageRow = StoredRow & { bytes: number };

interface Page {
  after: string | null;
  size: number;
  columns: readonly RowColumn[];
  texts: Text[];
}

async function readPage(context: Context, parent: DatasetHead, page: Page): Promise<PageRow[]> {
  const { after, size } = page;
  const compiled = compiledQuery(context, parent, page);
  const place = [authorize(context, "read"), parent.id];
  const parameters = after === null ? [...place, size] : [...place, after, size];
  return context.database.rows({ compile: () => ({ ...compiled, parameters }) });
}

const compiledQueries = new WeakMap<Database["orm"], Map<string, CompiledQuery<PageRow>>>();

/** Cached: compiling the query takes longer than reading a few rows, and only its parameters differ between pages. */
function compiledQuery(context: Context, parent: DatasetHead, page: Page): CompiledQuery<PageRow> {
  const { orm } = context.database;
  const cache = compiledQueries.get(orm) ?? new Map<string, CompiledQuery<PageRow>>();
  compiledQueries.set(orm, cache);
  const key = [page.after === null, ...page.columns].join();
  const compiled = cache.get(key) ?? queryOf(context, parent, page).$castTo<PageRow>().compile();
  cache.set(key, compiled);
  return compiled;
}

function queryOf(context: Context, parent: DatasetHead, { after, size, columns, texts }: Page) {
  const plain = columns.filter((column) => !texts.includes(column as Text));
  const query = rowsOf(context, parent)
    .select(["id as id", ...plain.map((column) => `${column} as ${column}` as const)])
    .select(({ ref }) => {
      const length = (text: Text) => sql<number>`octet_length(${ref(text)})`;
      const lengths = texts.map((text) => sql<number>`coalesce(${length(text)}, 0)`);
      const ifShort = (text: Text) =>
        sql`case when ${length(text)} <= ${sql.lit(MAX_SHORT_TEXT_BYTES)} then ${ref(text)} end`.as(text);
      return [
        sql<number>`${sql.join([sql.lit(0), ...lengths], sql` + `)}`.as("bytes"),
        ...texts.map(ifShort),
      ];
    });
  return (after === null ? query : query.where("id", ">", after)).orderBy("id").limit(size);
}

function rowsOf(context: Context, parent: DatasetHead) {
  return context.database.read
    .selectFrom("DatasetRow")
    .where("workspace", "=", authorize(context, "read"))
    .where("dataset", "=", parent.id);
}

/** The rows of a page with their long texts, in pieces that each bound the bytes of long texts. */
async function* withLongTexts(
  context: Context,
  parent: DatasetHead,
  { page, texts, hold }: { page: PageRow[]; texts: Text[]; hold: (bytes: number) => void },
): AsyncGenerator<StoredRow[]> {
  let piece: PageRow[] = [];
  let long: PageRow[] = [];
  let longBytes = 0;
  const complete = () => {
    hold(piece.reduce((sum, { bytes }) => sum + bytes, 0));
    return fill(context, parent, { piece, long, texts });
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
}

async function fill(context: Context, parent: DatasetHead, { piece, long, texts }: Piece) {
  if (long.length === 0) return piece;
  checkDeadline(context);
  const ids = long.map(({ id }) => id);
  const query = rowsOf(context, parent)
    .select(["id as id", ...texts.map((text) => `${text} as ${text}` as const)])
    .where("id", "in", ids)
    .$castTo<Pick<StoredRow, "id" | Text>>();
  const read = await inTurn(context, () => context.database.rows(query));
  const byId = new Map(read.map((row) => [row.id, row]));
  return piece.flatMap((row) => {
    if (row.bytes <= MAX_SHORT_TEXT_BYTES) return [row];
    const texts = byId.get(row.id); // undefined when the row was deleted since
    return texts ? [{ ...row, ...texts }] : []; // a copy: the page would keep the long texts of all its rows
  });
}
