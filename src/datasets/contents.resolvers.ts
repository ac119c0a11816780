import { type AliasedRawBuilder, sql } from "kysely";
import type { Context } from "../context.ts";
import { inTurn, lengthOf, MAX_STATEMENT_BYTES } from "../database/lengths.ts";
import { piecesOf } from "../database/pieces.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { afterRevisionsOf, type Entry, revisionId } from "./entries.resolvers.ts";
import type { Row } from "./resolvers.ts";

export const ROW_COLUMNS = [
  "name",
  "key",
  "logId",
  "values",
  "idealOutput",
  "metadata",
  "createdAt",
] as const satisfies Exclude<keyof Row, "id" | "asOf">[];
export type RowColumn = (typeof ROW_COLUMNS)[number];

/** The columns of a row whose length has no limit, in the order in which the table has them. */
export const TEXTS = ["name", "idealOutput", "metadata", "values"] as const;

/**
 * The length of the texts of a row, which both databases know without reading them. SQLite reads a row up to the column that is asked
 * for, so that it is also what a read of the last one takes.
 */
export const rowBytes = sql<number>`${sql.join(TEXTS.map(lengthOf), sql` + `)}`;

/** A row as stored, with the requested columns: `values` and `metadata` are texts of JSON. */
export type StoredRow = Omit<Row, "values" | "metadata"> & { values: string; metadata: string | null };

export interface ReadOptions {
  columns: readonly RowColumn[];
  /** Called with the length of each row before it is read; throws when the budget is spent. */
  spend?: (bytes: number) => void;
  /** Called with the bytes of each piece before it is read; throws when there is no memory for it. */
  hold?: (bytes: number) => void;
}

const MAX_ENTRIES_IN_PIECE = 500;

/** What entries hold, in their order: in non-empty pieces of at most a megabyte or of one row. */
export async function* readEntries(
  context: Context,
  entries: Entry[],
  { columns, spend = () => {}, hold = () => {} }: ReadOptions,
): AsyncGenerator<Map<Entry, StoredRow>> {
  const texts = TEXTS.filter((column) => columns.includes(column));
  const bytes = sql<number>`${sql.join([sql.lit(0), ...texts.map(lengthOf)], sql` + `)}`.as("bytes");
  for (let from = 0; from < entries.length; from += MAX_ENTRIES_IN_PIECE) {
    const some = entries.slice(from, from + MAX_ENTRIES_IN_PIECE);
    const measured = [bytes, rowBytes.as("rowBytes")];
    const lengths = [...(await contentsOf<{ bytes: number; rowBytes: number }>(context, some, measured))];
    for (const [, row] of lengths) spend(Number(row.bytes));
    for (const { piece } of piecesOf(lengths, ([, row]) => Number(row.rowBytes), MAX_STATEMENT_BYTES)) {
      hold(piece.reduce((sum, [, row]) => sum + Number(row.bytes), 0));
      const inPiece = piece.map(([entry]) => entry);
      yield await contentsOf<StoredRow>(context, inPiece, selected(columns));
    }
  }
}

/** For rows of which any version serves. */
export const ANY_VERSION = Number.POSITIVE_INFINITY;

export const selected = (columns: readonly string[]) => columns.map((column) => sql.ref(column).as(column));

/**
 * Some columns of what entries hold, with the ids of their rows. An entry without `until` may name any version since its row
 * was changed. Left out are entries that are gone: those of a deleted dataset, and rows of which any version serves.
 */
export async function contentsOf<Content>(
  context: Context,
  entries: Entry[],
  columns: AliasedRawBuilder<unknown, string>[],
): Promise<Map<Entry, Content & { id: string }>> {
  const read = (table: "DatasetRow" | "DatasetRowRevision", ids: string[]) =>
    readByIds<Content>(context, { table, ids, columns });
  const current = entries.filter(({ until }) => until === null);
  const rows = await read("DatasetRow", [...new Set(current.map(({ row }) => row))]);
  const isHeld = ({ row, version, until }: Entry) =>
    until === null && Number(rows.get(row)?.version) <= version;
  const revisions = new Map<Entry, string>();
  for (const entry of entries)
    if (!isHeld(entry))
      revisions.set(entry, entry.until === null ? await replacedSince(context, entry) : revisionId(entry));
  const byId = await read("DatasetRowRevision", [...revisions.values()]);
  const contents = entries.flatMap((entry): [Entry, Content & { id: string }][] => {
    const content = isHeld(entry) ? rows.get(entry.row) : byId.get(revisions.get(entry)!);
    return content ? [[entry, { ...content, id: entry.row }]] : [];
  });
  return new Map(contents);
}

interface ReadByIds {
  table: "DatasetRow" | "DatasetRowRevision";
  ids: string[];
  columns: AliasedRawBuilder<unknown, string>[];
}

async function readByIds<Content>(context: Context, { table, ids, columns }: ReadByIds) {
  if (ids.length === 0) return new Map<string, Content & { id: string; version: number }>();
  checkDeadline(context);
  const query = context.database.read
    .selectFrom(table as "DatasetRow")
    .select(["id as id", "version as version"])
    .select(columns)
    .where("workspace", "=", authorize(context, "read"))
    .where("id", "in", ids)
    .$castTo<Content & { id: string; version: number }>();
  const found = await inTurn(context, () => context.database.rows(query));
  return new Map(found.map((row) => [row.id, row]));
}

/** The id of the revision of an entry that its row held when it was found. */
async function replacedSince(context: Context, { row, version }: Entry): Promise<string> {
  if (version === ANY_VERSION) return "";
  const revision = await context.database.read
    .selectFrom("DatasetRowRevision")
    .select("id")
    .where("workspace", "=", authorize(context, "read"))
    .where("id", ">", revisionId({ row, until: version }))
    .where("id", "<", afterRevisionsOf(row))
    .orderBy("id")
    .executeTakeFirst();
  return revision?.id ?? "";
}
