import { type CompiledQuery, sql } from "kysely";
import type { Context } from "../context.ts";
import { inTurn, MAX_PIECE_BYTES } from "../database/lengths.ts";
import type { Database } from "../database/open.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { DatasetHead, Row } from "./resolvers.ts";

const MAX_ROWS_IN_PIECE = 500;
/** Texts of up to as many bytes are read with the page of their rows, longer ones by their lengths. */
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

/** A row as it is stored: `values` and `metadata` are texts of JSON. It has the columns that were asked for. */
export type StoredRow = Omit<Row, "values" | "metadata"> & { values: string; metadata: string | null };

export interface StoredRange {
  after: string | null;
  most: number;
  columns: readonly RowColumn[];
  /** Learns the lengths of what is about to be read; throws when that is too much. */
  spend?: (bytes: number) => void;
}

const TEXTS = ["name", "values", "idealOutput", "metadata"] as const;
type Text = (typeof TEXTS)[number];

/** The stored rows of a dataset in their order, in pieces of a few megabytes or of one row; none of them is empty. */
export async function* storedRows(
  context: Context,
  parent: DatasetHead,
  { after, most, columns, spend = () => {} }: StoredRange,
): AsyncGenerator<StoredRow[]> {
  const texts = TEXTS.filter((column) => columns.includes(column));
  let last = after;
  let left = most;
  while (left > 0) {
    const size = Math.min(left, MAX_ROWS_IN_PIECE);
    checkDeadline(context);
    const page = await inTurn(context, () =>
      readPage(context, parent, { after: last, size, columns, texts }),
    );
    for (const { bytes } of page) spend(Number(bytes));
    yield* whole(context, parent, { page, texts });
    if (page.length < size) return;
    left -= page.length;
    last = page.at(-1)!.id;
  }
}

/** A row of a page: its long texts are missing. */
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
  // The types of the columns are those of the entity, and these are not converted to them.
  return context.database.rows({ compile: () => ({ ...compiled, parameters }) }) as unknown as PageRow[];
}

const compiledQueries = new WeakMap<Database["orm"], Map<string, CompiledQuery>>();

/** To compile the query takes longer than to read a few rows by it. Only its parameters differ from page to page. */
function compiledQuery(context: Context, parent: DatasetHead, page: Page): CompiledQuery {
  const { orm } = context.database;
  const known = compiledQueries.get(orm) ?? new Map<string, CompiledQuery>();
  compiledQueries.set(orm, known);
  const key = [page.after === null, ...page.columns].join();
  const compiled = known.get(key) ?? queryOf(context, parent, page).compile();
  known.set(key, compiled);
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

/** The rows of a page with their long texts, of which a megabyte is read at once. */
async function* whole(
  context: Context,
  parent: DatasetHead,
  { page, texts }: { page: PageRow[]; texts: Text[] },
): AsyncGenerator<StoredRow[]> {
  let piece: PageRow[] = [];
  let long: PageRow[] = [];
  let longBytes = 0;
  for (const row of page) {
    const isLong = row.bytes > MAX_SHORT_TEXT_BYTES;
    if (isLong && long.length > 0 && longBytes + row.bytes > MAX_PIECE_BYTES) {
      yield await filled(context, parent, { piece, long, texts });
      [piece, long, longBytes] = [[], [], 0];
    }
    piece.push(row);
    if (!isLong) continue;
    long.push(row);
    longBytes += row.bytes;
  }
  if (piece.length > 0) yield await filled(context, parent, { piece, long, texts });
}

interface Unfilled {
  piece: PageRow[];
  long: PageRow[];
  texts: Text[];
}

async function filled(context: Context, parent: DatasetHead, { piece, long, texts }: Unfilled) {
  if (long.length === 0) return piece;
  checkDeadline(context);
  const ids = long.map(({ id }) => id);
  const query = rowsOf(context, parent)
    .select(["id as id", ...texts.map((text) => `${text} as ${text}` as const)])
    .where("id", "in", ids);
  const read = await inTurn(context, () => context.database.rows(query));
  const byId = new Map(read.map((row) => [row.id, row]));
  for (const row of long) Object.assign(row, byId.get(row.id));
  return piece.filter((row) => row.bytes <= MAX_SHORT_TEXT_BYTES || byId.has(row.id)); // the others are gone
}
