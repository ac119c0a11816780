import { piecesOf } from "../database/pieces.ts";
import { jsonSize } from "../limits/jsonSize.ts";
import type { toRows } from "./steps.resolvers.ts";
import type { Batch } from "./storedLogs.resolvers.ts";

/** SQLite indexes the words of so many characters in some 8 ms, in which no other request runs. */
const MAX_CHARACTERS_AT_ONCE = 96 * 1024;

/** As of the spans that are stored together. */
const MAX_TRANSACTION_CHARACTERS = 1024 * 1024;

type Rows = ReturnType<typeof toRows>;

/** Divides logs into those that a transaction inserts: a megabyte as JSON, which some 600 small logs are. */
export function* transactionsOf(rows: Rows): Generator<Rows> {
  const sizeOf = (row: object) => jsonSize(row, MAX_TRANSACTION_CHARACTERS);
  for (const { piece } of piecesOf(rows, sizeOf, MAX_TRANSACTION_CHARACTERS)) yield piece;
}

/** Inserts logs in the transaction of a batch; calls `pause` between parts of the work. */
export async function insertLogs(
  { em, context }: Pick<Batch, "em" | "context">,
  rows: Rows,
  pause: () => Promise<void>,
): Promise<void> {
  const sizeOf = (row: object) => jsonSize(row, MAX_CHARACTERS_AT_ONCE);
  const pieces = piecesOf(rows, sizeOf, MAX_CHARACTERS_AT_ONCE).map(({ piece }) =>
    piece.map((row): ["Log", typeof row] => ["Log", row]),
  );
  await context.database.insertInPieces(em, pieces, pause);
}
