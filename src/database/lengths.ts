import { setImmediate } from "node:timers/promises";
import { spendAnswerBytes } from "../answerBudget.ts";
import type { Context } from "../context.ts";
import { keepDeadline } from "../deadline.ts";

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
    for (const piece of piecesOf(measured)) {
      keepDeadline(context);
      for (const row of await inTurn(context, () => ways.read(piece))) found.set(row.id, row);
    }
  }
  return found;
}

/** Ids of rows that have at most a megabyte together, or of one row that has more. */
function* piecesOf(measured: Measured[]): Generator<string[]> {
  let piece: string[] = [];
  let total = 0;
  for (const { id, bytes } of measured) {
    if (piece.length > 0 && total + Number(bytes) > MAX_PIECE_BYTES) {
      yield piece;
      piece = [];
      total = 0;
    }
    piece.push(id);
    total += Number(bytes);
  }
  if (piece.length > 0) yield piece;
}
