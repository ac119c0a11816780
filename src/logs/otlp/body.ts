import { pipeline, type Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Context } from "../../context.ts";
import { GabbroError } from "../../errors.ts";
import type { HeldBytes } from "../../http/bodies.ts";
import { MAX_BODY_BYTES } from "./bounds.ts";

const CHUNK_BYTES = 64 * 1024;

export interface BodyOptions {
  context: Context;
  /** Counts the bytes that are unpacked. */
  held: HeldBytes;
  overloaded: () => Error;
}

/**
 * Reads the body of a request, or the message of a call, unpacked, and waits until it may be decoded. Throws BODY_TOO_LARGE as soon as it has more than
 * 64 MB, so that a small one that unpacks to gigabytes costs no more memory than that.
 */
export async function readBody(
  payload: Readable,
  encodingHeader: string | undefined,
  { context, held, overloaded }: BodyOptions,
): Promise<Buffer> {
  const encoding = encodingHeader?.trim().toLowerCase() || "identity";
  if (encoding !== "identity" && encoding !== "gzip" && encoding !== "x-gzip") throw unsupportedEncoding();
  const isPacked = encoding !== "identity";
  const bytes = isPacked ? unpacked(payload) : payload;
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_BODY_BYTES) throw tooLarge();
      if (isPacked && !held.take(chunk.length)) throw overloaded();
      chunks.push(chunk);
    }
  } catch (error) {
    throw isOfZlib(error) ? notGzip(error) : error;
  }
  await held.waitForOthers(length);
  return joined(chunks, length, () => context.database.turn(context.access!.workspaceId));
}

const JOINED_BYTES_IN_TURN = 4 * 1024 * 1024;

/** Joining 64 MB at once takes 50 ms, most of them to get the memory. */
async function joined(chunks: Buffer[], length: number, turn: () => Promise<void>): Promise<Buffer> {
  if (length <= JOINED_BYTES_IN_TURN) return Buffer.concat(chunks, length);
  const whole = Buffer.allocUnsafeSlow(length);
  let at = 0;
  let pauseAt = JOINED_BYTES_IN_TURN;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
    if (at < pauseAt) continue;
    await turn();
    pauseAt = at + JOINED_BYTES_IN_TURN;
  }
  return whole;
}

/** An error of either stream destroys both, and ends the reading. */
const unpacked = (payload: Readable): Readable =>
  pipeline(payload, createGunzip({ chunkSize: CHUNK_BYTES }), () => {});

const isOfZlib = (error: unknown) => `${(error as NodeJS.ErrnoException).code}`.startsWith("Z_");

const notGzip = (cause: unknown) =>
  new GabbroError("BAD_REQUEST", "The body is not valid gzip: it is cut or damaged.", { cause });

const unsupportedEncoding = () =>
  new GabbroError("UNSUPPORTED_MEDIA_TYPE", "This encoding of the body is not supported: use gzip or none.");

/** The error for more bytes than a request may have. */
export const tooLarge = () =>
  new GabbroError(
    "BODY_TOO_LARGE",
    `The request is larger than ${MAX_BODY_BYTES / 1024 / 1024} MB after decompression. Send fewer spans at once.`,
  );
