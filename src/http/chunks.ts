import { GabbroError } from "../errors.ts";

/** A body may have this many chunks of any length. */
const FREE_CHUNKS = 250;
/** Parsing a chunk takes 1.2 microseconds. */
const MIN_AVERAGE_BYTES = 60;

/** Counts the chunks of a body; `isWasteful` becomes true when they are so small that they cost far more than their bytes. */
export function countChunks({ minAverageBytes = MIN_AVERAGE_BYTES, freeChunks = FREE_CHUNKS } = {}) {
  let chunks = 0;
  let bytes = 0;
  return {
    /** Unless it is the rest of a chunk that was cut in two. */
    add: (length: number, isRest = false): void => {
      if (!isRest) chunks += 1;
      bytes += length;
    },
    isWasteful: (): boolean => chunks > freeChunks && bytes < chunks * minAverageBytes,
  };
}

/** Smaller chunks are joined to pieces of this size. */
const MIN_PIECE_BYTES = 16 * 1024;

/** Joins small chunks of a body: in memory each takes 400 bytes beside its own, which made 1.5 GB of 100 MB. */
export function joinChunks() {
  let small: Buffer[] = [];
  let bytes = 0;
  const take = (): Buffer | undefined => {
    const piece = small.length > 1 ? Buffer.concat(small, bytes) : small[0];
    small = [];
    bytes = 0;
    return piece;
  };
  return {
    /** The next piece, once there is one. */
    add: (chunk: Buffer): Buffer | undefined => {
      small.push(chunk);
      bytes += chunk.length;
      return bytes >= MIN_PIECE_BYTES ? take() : undefined;
    },
    /** The last piece, of any size. */
    rest: (): Buffer | undefined => take(),
  };
}

/** The error for a body in tiny chunks. */
export function chunksTooSmall(): GabbroError {
  const message = `The body arrives in chunks of fewer than ${MIN_AVERAGE_BYTES} bytes on average. Send it in larger chunks, or with Content-Length.`;
  return new GabbroError("BAD_REQUEST", message);
}
