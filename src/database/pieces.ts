import type { Context } from "../context.ts";
import { checkDeadline } from "../limits/deadline.ts";

/** How many bytes one turn of the event loop reads and parses at most; a larger row has a turn to itself. */
export const MAX_PIECE_BYTES = 4 * 1024 * 1024;
const MAX_PIECE_ROWS = 1_000;
/** A single piece this small is read at once: it takes no longer than any other request. */
const MAX_BYTES_AT_ONCE = 64 * 1024;

interface Reading<Row, Read> {
  rows: Row[];
  /** What it takes to read a row. */
  bytesOf: (row: Row) => number;
  read: (piece: Row[]) => Promise<Read[]>;
}

/**
 * Reads rows whose lengths are known without holding up others: piece by piece, each in a turn of its workspace. Throws
 * TIMED_OUT once the request's time is up.
 */
export async function readInPieces<Row, Read>(
  context: Pick<Context, "database" | "deadline">,
  workspaceId: string,
  { rows, bytesOf, read }: Reading<Row, Read>,
): Promise<Read[]> {
  const { turn, search } = context.database;
  const found: Read[] = [];
  for (const { piece, bytes } of piecesOf(rows, bytesOf)) {
    const isSmall = bytes <= MAX_BYTES_AT_ONCE && piece.length === rows.length;
    if (!isSmall) await turn(workspaceId);
    checkDeadline(context);
    const some = await read(piece);
    if (!isSmall && search.isServer) await turn(workspaceId); // its answers may have come all at once
    for (const one of some) found.push(one);
  }
  return found;
}

/** Rows, in their order, in pieces that are each read in one turn. */
export function* piecesOf<Row>(
  rows: Iterable<Row>,
  bytesOf: (row: Row) => number,
  maxBytes = MAX_PIECE_BYTES,
): Generator<{ piece: Row[]; bytes: number }> {
  let piece: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const more = bytesOf(row);
    if (piece.length > 0 && (bytes + more > maxBytes || piece.length === MAX_PIECE_ROWS)) {
      yield { piece, bytes };
      [piece, bytes] = [[], 0];
    }
    piece.push(row);
    bytes += more;
  }
  if (piece.length > 0) yield { piece, bytes };
}
