import { type Expression, sql } from "kysely";
import type { Context } from "../context.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { jsonBytesOf } from "../limits/jsonBytes.ts";
import { createPauses } from "./pauses.ts";
import { piecesOf } from "./pieces.ts";

/** Bytes that one statement reads, unless a single row is larger: SQLite blocks other requests while it reads. */
export const MAX_STATEMENT_BYTES = 1024 * 1024;
const MAX_IDS_IN_PIECE = 500;

/**
 * Runs each read of a request, after the first one, in a turn of its workspace, so that other requests run in between; the first one,
 * too, if the request may write, as requests that share a commit go on at once after it.
 */
export async function inTurn<Result>(context: Context, read: () => Promise<Result>): Promise<Result> {
  if (context.hasRead || context.mayWrite) await context.database.turn(context.access!.workspaceId);
  context.hasRead = true;
  return read();
}

export interface RowLength {
  id: string;
  bytes: number;
  /** With the texts that stand before the wanted one, as SQLite reads them, too; the same when left out. */
  passedBytes?: number;
}

interface ReadingByLength<Row> {
  measure: (ids: string[]) => Promise<RowLength[]>;
  read: (ids: string[]) => Promise<Row[]>;
  /** Parses texts of a row. */
  parse?: (row: Row) => Row;
}

/**
 * Reads rows by their ids in pieces of at most a megabyte, and parses one row after another, with other requests in between.
 * `measure` returns the lengths of the rows, which are taken off the budget of the answer before `read` reads them.
 */
export async function readByLength<Row extends { id: string }>(
  context: Context,
  ids: string[],
  { measure, read, parse = (row) => row }: ReadingByLength<Row>,
): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>();
  for (let from = 0; from < ids.length; from += MAX_IDS_IN_PIECE) {
    const batch = ids.slice(from, from + MAX_IDS_IN_PIECE);
    const lengths = await inTurn(context, () => measure(batch));
    for (const { bytes } of lengths) spendAnswerBytes(context, Number(bytes));
    const readBytes = ({ bytes, passedBytes = bytes }: RowLength) => Number(passedBytes);
    for (const { piece } of piecesOf(lengths, readBytes, MAX_STATEMENT_BYTES)) {
      checkDeadline(context);
      const readPiece = () => read(piece.map(({ id }) => id));
      const found = await inTurn(context, readPiece);
      const pause = createPauses(context, context.access!.workspaceId);
      for (const row of found) {
        if (pause.isDue()) await pause.take();
        rows.set(row.id, parse(row));
      }
    }
  }
  return rows;
}

/** The bytes of a text, which both databases know without reading it. */
export const lengthOf = (column: string | Expression<unknown>) =>
  sql<number>`coalesce(octet_length(${typeof column === "string" ? sql.ref(column) : column}), 0)`;

const MAX_ENTRIES_IN_PIECE = 5_000;
/** Approximate memory of an entry of a list, beside its texts. */
const ENTRY_BYTES = 30;

/** About how many bytes entries take: their texts, in UTF-8 unless they are measured otherwise, and 30 for each entry. */
export function bytesOf(entries: object[], lengthOf: (text: string) => number = Buffer.byteLength): number {
  let bytes = entries.length * ENTRY_BYTES;
  for (const entry of entries)
    for (const value of Object.values(entry)) if (typeof value === "string") bytes += lengthOf(value);
  return bytes;
}

/** The entries of lists to read: those after an id, ordered by id if they have one parent. */
export interface Piece {
  parents: string[];
  after: string | null;
  limit: number;
}

type ReadPiece<Entry> = (piece: Piece) => Promise<Entry[]>;

interface ReadingInPieces<Entry> {
  read: ReadPiece<Entry>;
  turn: () => Promise<void>;
  limit?: number;
}

/** Reads a whole list in the order of its ids, in pieces, with a turn of the workspace for each piece after the first. */
export async function* inPieces<Entry extends { id: string }>(
  parent: string,
  { read, turn, limit = MAX_ENTRIES_IN_PIECE }: ReadingInPieces<Entry>,
): AsyncGenerator<Entry[]> {
  let after: string | null = null;
  for (;;) {
    const piece: Entry[] = await read({ parents: [parent], after, limit });
    yield piece;
    if (piece.length < limit) return;
    after = piece.at(-1)!.id;
    await turn();
  }
}

/**
 * Reads the lists of many parents, each in the order of its ids: short lists with one statement, longer ones in pieces, one
 * list after another. Takes them off the budget of the answer, their texts as JSON: names may have characters that take six bytes.
 */
export async function readLists<Entry extends { id: string; parent: string }>(
  context: Context,
  parents: string[],
  read: ReadPiece<Entry>,
): Promise<Entry[][]> {
  const spend = (entries: Entry[]) => spendAnswerBytes(context, bytesOf(entries, jsonBytesOf));
  if (context.mayWrite) await context.database.turn(context.access!.workspaceId);
  const entries = await read({ parents, after: null, limit: MAX_ENTRIES_IN_PIECE + 1 });
  if (entries.length <= MAX_ENTRIES_IN_PIECE) {
    spend(entries);
    const inOrder = (a: Entry, b: Entry) => (a.id < b.id ? -1 : 1);
    const byParent = Map.groupBy(entries.toSorted(inOrder), ({ parent }) => parent);
    return parents.map((parent) => byParent.get(parent) ?? []);
  }
  const turn = () => context.database.turn(context.access!.workspaceId);
  const lists: Entry[][] = [];
  for (const parent of parents) {
    await turn(); // the lists together may have 32 MB, each of them less than a piece
    const list: Entry[] = [];
    for await (const piece of inPieces(parent, { read, turn })) {
      checkDeadline(context);
      spend(piece);
      for (const entry of piece) list.push(entry);
    }
    lists.push(list);
  }
  return lists;
}
