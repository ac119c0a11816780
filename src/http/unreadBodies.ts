import type { IncomingMessage } from "node:http";
import { GabbroError } from "../errors.ts";
import type { App } from "./app.ts";

const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** The same on routes whose bodies may have 64 MB. */
const MAX_UNREAD_KEPT_BYTES = 80 * 1024 * 1024;
/** A body may have this many chunks of any length. */
const FREE_CHUNKS = 1_000;
/** Parsing a chunk takes 1.2 microseconds, and holding it 400 bytes of memory. */
const MIN_AVERAGE_BYTES = 64;

/** Counts the chunks of a body; `isWasteful` becomes true when they are so small that they cost far more than their bytes. */
export function countChunks(minAverageBytes = MIN_AVERAGE_BYTES) {
  let chunks = 0;
  let bytes = 0;
  return {
    add: (length: number): void => {
      chunks += 1;
      bytes += length;
    },
    isWasteful: (): boolean => chunks > FREE_CHUNKS && bytes < chunks * minAverageBytes,
    bytes: (): number => bytes,
  };
}

/** The error for a body in tiny chunks. */
export function chunksTooSmall(): GabbroError {
  const message = `The body arrives in chunks of fewer than ${MIN_AVERAGE_BYTES} bytes on average. Send it in larger chunks, or with Content-Length.`;
  return new GabbroError("BAD_REQUEST", message);
}

const FREE_UNREAD_BYTES = 64 * 1024;
const UNREAD_BYTES_PER_MS = 16 * 1024;
/** When the bytes of all unread bodies that have arrived are paid for. */
let paidAtMs = 0;

/**
 * Reads at most 16 MB of unread bodies per second, from all connections together. Node.js reads up to 2 MB of a connection
 * in one turn of the event loop: 40 connections that send 10 MB without a token would make turns of 100 to 250 ms.
 */
function readSlowly(request: IncomingMessage, bytes: number): void {
  const nowMs = performance.now();
  paidAtMs = Math.max(paidAtMs, nowMs) + bytes / UNREAD_BYTES_PER_MS;
  if (paidAtMs - nowMs < 1) return;
  request.pause();
  setTimeout(() => request.resume(), paidAtMs - nowMs).unref();
}

const discarded = new WeakSet<IncomingMessage>();

/**
 * Reads the rest of a body that no handler needs: a client that sends its whole body before it reads must get its answer, not
 * a connection reset. Closes the connection when the rest has more than 16 MB, or tiny chunks.
 */
export function discardBody(request: IncomingMessage, keepsBytes = false): void {
  const maxBytes = keepsBytes ? MAX_UNREAD_KEPT_BYTES : MAX_UNREAD_BYTES;
  if (!discarded.has(request) && !request.complete) {
    discarded.add(request);
    const chunks = countChunks();
    request.on("data", (chunk: Buffer) => {
      chunks.add(chunk.length);
      if (chunks.isWasteful() || chunks.bytes() > maxBytes) request.destroy();
      else if (chunks.bytes() > FREE_UNREAD_BYTES) readSlowly(request, chunk.length);
    });
  }
  request.resume();
}

/** Discards bodies that are not read before their response is sent. Node.js would read them whole, however long. */
export function discardUnreadBodies(app: App): void {
  app.addHook("onSend", ({ raw, routeOptions }, _, payload, done) => {
    if (!raw.complete) discardBody(raw, routeOptions.config?.keepsBytes);
    done(null, payload);
  });
}
