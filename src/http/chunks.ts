import { GabbroError } from "../errors.ts";

/**
 * A body may have this many chunks of any length. With 1,000, a packet of each of 500 connections without a token has others
 * wait for 0.5 to 0.9 s.
 */
const FREE_CHUNKS = 250;
/** Parsing a chunk takes 1.2 microseconds, and holding it 400 bytes of memory. */
const MIN_AVERAGE_BYTES = 64;

/** Counts the chunks of a body; `isWasteful` becomes true when they are so small that they cost far more than their bytes. */
export function countChunks({ minAverageBytes = MIN_AVERAGE_BYTES, freeChunks = FREE_CHUNKS } = {}) {
  let chunks = 0;
  let bytes = 0;
  return {
    add: (length: number): void => {
      chunks += 1;
      bytes += length;
    },
    isWasteful: (): boolean => chunks > freeChunks && bytes < chunks * minAverageBytes,
  };
}

/** The error for a body in tiny chunks. */
export function chunksTooSmall(): GabbroError {
  const message = `The body arrives in chunks of fewer than ${MIN_AVERAGE_BYTES} bytes on average. Send it in larger chunks, or with Content-Length.`;
  return new GabbroError("BAD_REQUEST", message);
}
