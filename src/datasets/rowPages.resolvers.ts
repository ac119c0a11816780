import { type CompiledQuery, sql } from "kysely";
import type { Context } from "../context.ts";
import { inTurn, lengthOf } from "../database/lengths.ts";
import type { Database } from "../database/open.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { type RowColumn, type StoredRow, TEXTS } from "./contents.resolvers.ts";
import type { DatasetHead } from "./resolvers.ts";

/** Shorter texts are read with their page; longer ones afterwards, in pieces bounded by their lengths. */
export const MAX_SHORT_TEXT_BYTES = 4_096;

export type Text = (typeof TEXTS)[number];

/** A row of a page, still without its long texts. */
export type PageRow = StoredRow & {
  /** Of the texts that are asked for. */
  bytes: number;
  /** Of all texts that are read for them, where these are more. */
  passedBytes?: number;
  ofDataset?: number | string;
};

/** What a page reads of its dataset. In its own statement: a change between two would show rows of two versions. */
export type Along = "version" | "versions" | null;

export interface Page {
  after: string | null;
  size: number;
  columns: readonly RowColumn[];
  texts: Text[];
  along: Along;
}

/** Rows after an id, in the order of their ids, without texts that are long or stand behind long ones. Throws TIMED_OUT. */
export async function readPage(context: Context, parent: DatasetHead, page: Page): Promise<PageRow[]> {
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
  const passed = passedFor(texts.at(-1));
  const query = rowsOf(context, parent)
    .select(["id as id", ...plain.map((column) => `${column} as ${column}` as const)])
    .select([
      ...(along ? [datasetOf(context, parent).select(ALONG[along]).as("ofDataset")] : []),
      sumOf(texts).as("bytes"),
      ...(passed.length > texts.length ? [sumOf(passed).as("passedBytes")] : []),
      ...texts.map(ifShort),
    ]);
  return (after === null ? query : query.where("id", ">", after)).orderBy("id").limit(size);
}

/** What SQLite reads for a text: all texts that stand before it, and itself. */
const passedFor = (text: Text | undefined) => TEXTS.slice(0, text ? TEXTS.indexOf(text) + 1 : 0);

const sumOf = (texts: Text[]) => sql<number>`${sql.join([sql.lit(0), ...texts.map(lengthOf)], sql` + `)}`;

function ifShort(text: Text) {
  const isLong = (passed: Text) => sql`octet_length(${sql.ref(passed)}) > ${sql.lit(MAX_SHORT_TEXT_BYTES)}`;
  return sql`case when ${sql.join(passedFor(text).map(isLong), sql` or `)} then null else ${sql.ref(text)} end`.as(
    text,
  );
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
    .where("deletedAt", "is", null)
    .where("id", "=", parent.id);
}

function rowsOf(context: Context, parent: DatasetHead) {
  return context.database.read
    .selectFrom("DatasetRow")
    .where("workspace", "=", authorize(context, "read"))
    .where("dataset", "=", parent.id);
}

/** What reading the texts of a row takes, as SQLite reads all that stand before the last one. */
export const passedBytes = (row: PageRow) => row.passedBytes ?? row.bytes;
