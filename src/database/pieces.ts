import type { Context } from "../context.ts";
import { checkDeadline } from "../limits/deadline.ts";

/** Bytes that one turn of the event loop reads and parses; a larger row has a turn of its own. */
export const MAX_PIECE_BYTES = 4 * 1024 * 1024;
const MAX_PIECE_ROWS = 1_000;
/** Rows with fewer bytes in total are read at once: this takes no longer than any other request. */
const MAX_BYTES_AT_ONCE = 64 * 1024;

interface Reading<Row, Read> {
  rows: Row[];
  /** The length of a row. */
  bytesOf: (row: Row) => number;
  /** The bytes of a piece, where they take longer than those that are only read. */
  maxBytes?: number;
  read: (piece: Row[]) => Promise<Read[]>;
}

/**
 * Reads rows of known lengths without blocking other requests: piece by piece, each in a turn of its workspace. Throws
 * TIMED_OUT once the request's time is up.
 */
export async function readInPieces<Row, Read>(
  context: Pick<Context, "database" | "deadline">,
  workspaceId: string,
  { rows, bytesOf, maxBytes, read }: Reading<Row, Read>,
): Promise<Read[]> {
  const { turn, search } = context.database;
  const results: Read[] = [];
  for (const { piece, bytes } of piecesOf(rows, bytesOf, maxBytes)) {
    const isSmall = bytes <= MAX_BYTES_AT_ONCE && piece.length === rows.length;
    if (!isSmall) await turn(workspaceId);
    checkDeadline(context);
    const pieceResults = await read(piece);
    if (!isSmall && search.isServer) await turn(workspaceId); // the results of several pieces may arrive in one turn
    for (const result of pieceResults) results.push(result);
  }
  return results;
}

/** Divides rows, in their order, into pieces that are each read in one turn. */
export function* piecesOf<Row>(
  rows: Iterable<Row>,
  bytesOf: (row: Row) => number,
  maxBytes = MAX_PIECE_BYTES,
): Generator<{ piece: Row[]; bytes: number }> {
  let piece: Row[] = [];
  let bytes = 0;
  for (const row of rows) {
    const rowBytes = bytesOf(row);
    if (piece.length > 0 && (bytes + rowBytes > maxBytes || piece.length === MAX_PIECE_ROWS)) {
      yield { piece, bytes };
      [piece, bytes] = [[], 0];
    }
    piece.push(row);
    bytes += rowBytes;
  }
  if (piece.length > 0) yield { piece, bytes };
}
