import { setImmediate } from "node:timers/promises";
import { type Expression, sql } from "kysely";
import type { Context } from "../context.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { piecesOf } from "./pieces.ts";

/** What one statement reads at most, unless a single row is larger: SQLite reads while nobody else is served. */
export const MAX_PIECE_BYTES = 1024 * 1024;
const MAX_IDS_IN_PIECE = 500;

const lastTurns = new WeakMap<Context, Promise<unknown>>();

/**
 * Reads for one request piece by piece, also of several lists, with others served in between. The first piece is read
 * at once.
 */
export function inTurn<Result>(context: Context, read: () => Promise<Result>): Promise<Result> {
  const last = lastTurns.get(context);
  const reading = last ? last.then(read) : read();
  const pause = () => setImmediate();
  lastTurns.set(context, reading.then(pause, pause));
  return reading;
}

export interface Measured {
  id: string;
  bytes: number;
}

/**
 * Rows by their ids in pieces of at most a megabyte. `measure` asks for the lengths of what `read` reads, which are taken
 * off the budget of the answer first.
 */
export async function readByLength<Row extends { id: string }>(
  context: Context,
  ids: string[],
  ways: { measure: (ids: string[]) => Promise<Measured[]>; read: (ids: string[]) => Promise<Row[]> },
): Promise<Map<string, Row>> {
  const found = new Map<string, Row>();
  for (let from = 0; from < ids.length; from += MAX_IDS_IN_PIECE) {
    const asked = ids.slice(from, from + MAX_IDS_IN_PIECE);
    const measured = await inTurn(context, () => ways.measure(asked));
    for (const { bytes } of measured) spendAnswerBytes(context, Number(bytes));
    for (const { piece } of piecesOf(measured, ({ bytes }) => Number(bytes), MAX_PIECE_BYTES)) {
      checkDeadline(context);
      const read = () => ways.read(piece.map(({ id }) => id));
      for (const row of await inTurn(context, read)) found.set(row.id, row);
    }
  }
  return found;
}

/** How many bytes a text has, which both databases know without reading it. */
export const lengthOf = (column: string | Expression<unknown>) =>
  sql<number>`coalesce(octet_length(${typeof column === "string" ? sql.ref(column) : column}), 0)`;

const MAX_ENTRIES_IN_PIECE = 5_000;
/** What an entry of a list takes in memory, roughly. */
const ENTRY_BYTES = 100;

/** Which entries of lists to read, in the order of their ids where they are of one parent; what comes after an id. */
export interface Piece {
  parents: string[];
  after: string | null;
  most: number;
}

type ReadPiece<Entry> = (piece: Piece) => Promise<Entry[]>;

/** A whole list in the order of its ids, in pieces with others served in between. */
export async function* inPieces<Entry extends { id: string }>(
  parent: string,
  read: ReadPiece<Entry>,
  most = MAX_ENTRIES_IN_PIECE,
): AsyncGenerator<Entry[]> {
  let after: string | null = null;
  for (;;) {
    const piece: Entry[] = await read({ parents: [parent], after, most });
    yield piece;
    if (piece.length < most) return;
    after = piece.at(-1)!.id;
    await setImmediate();
  }
}

/**
 * The lists of many parents, each in the order of its ids: by one statement where they are short, else one after another
 * in pieces. They are taken off the budget of the answer.
 */
export async function readLists<Entry extends { id: string; parent: string }>(
  context: Context,
  parents: string[],
  read: ReadPiece<Entry>,
): Promise<Entry[][]> {
  const spend = (entries: Entry[]) => spendAnswerBytes(context, entries.length * ENTRY_BYTES);
  const few = await read({ parents, after: null, most: MAX_ENTRIES_IN_PIECE + 1 });
  if (few.length <= MAX_ENTRIES_IN_PIECE) {
    spend(few);
    const inOrder = (one: Entry, other: Entry) => (one.id < other.id ? -1 : 1);
    const byParent = Map.groupBy(few.toSorted(inOrder), ({ parent }) => parent);
    return parents.map((parent) => byParent.get(parent) ?? []);
  }
  const lists: Entry[][] = [];
  for (const parent of parents) {
    const list: Entry[] = [];
    for await (const piece of inPieces(parent, read)) {
      checkDeadline(context);
      spend(piece);
      for (const entry of piece) list.push(entry);
    }
    lists.push(list);
  }
  return lists;
}
