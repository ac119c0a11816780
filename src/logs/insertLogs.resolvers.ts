import { MAX_TRANSACTION_BYTES } from "../database/commitLanes.ts";
import { piecesOf } from "../database/pieces.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import type { Pause } from "../limits/turns.ts";
import type { toRows } from "./steps.resolvers.ts";
import type { Batch } from "./storedLogs.resolvers.ts";

/** SQLite indexes so many bytes of words in some 8 ms, in which no other request runs. */
const MAX_BYTES_AT_ONCE = 96 * 1024;

/** As of one log, whose input and output are indexed up to 100,000 characters each, in ASCII. */
const MAX_SHARED_BYTES = 192 * 1024;

type Rows = ReturnType<typeof toRows>;

const inBytes = { lengthOf: (text: string) => Buffer.byteLength(text) };

/** Whether logs may share a transaction of the group commit, which inserts and indexes them in one turn of the event loop. */
export function mayShare(rows: Rows): boolean {
  let bytes = 0;
  for (const row of rows) {
    bytes += jsonSize(row, MAX_SHARED_BYTES, inBytes);
    if (bytes > MAX_SHARED_BYTES) return false;
  }
  return true;
}

/** Divides logs into those that a transaction inserts: 512 kB as JSON, which some 280 small logs are. */
export function* transactionsOf(rows: Rows): Generator<Rows> {
  const sizeOf = (row: object) => jsonSize(row, MAX_TRANSACTION_BYTES, inBytes);
  for (const { piece } of piecesOf(rows, sizeOf, MAX_TRANSACTION_BYTES)) yield piece;
}

/** Inserts logs in the transaction of a batch; calls `pause` between parts of the work. */
export async function insertLogs(
  { em, context }: Pick<Batch, "em" | "context">,
  rows: Rows,
  pause: Pause,
): Promise<void> {
  const sizeOf = (row: object) => jsonSize(row, MAX_BYTES_AT_ONCE, inBytes);
  const pieces = piecesOf(rows, sizeOf, MAX_BYTES_AT_ONCE).map(({ piece }) =>
    piece.map((row): ["Log", typeof row] => ["Log", row]),
  );
  await context.database.insertInPieces(em, pieces, pause);
}
