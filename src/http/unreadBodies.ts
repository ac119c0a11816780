import type { IncomingMessage } from "node:http";
import type { App } from "./app.ts";
import { isStopped } from "./slices.ts";

const METHODS_WITH_BODIES = new Set(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);

/** Whether Fastify reads the body of a request: one of any other method is answered without. */
export const readsBody = ({ method }: { method: string }): boolean => METHODS_WITH_BODIES.has(method);

const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** The same on routes whose bodies may have 64 MB. */
const MAX_UNREAD_KEPT_BYTES = 80 * 1024 * 1024;
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
  const { socket } = request;
  if (!discarded.has(request) && !request.complete && !isStopped(socket)) {
    discarded.add(request);
    let bytes = 0;
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes || isStopped(socket)) request.destroy();
      else if (bytes > FREE_UNREAD_BYTES) readSlowly(request, chunk.length);
    });
  }
  request.resume();
}

/** Discards bodies that are not read before their response is sent. Node.js would read them whole, however long. */
export function discardUnreadBodies(app: App): void {
  app.addHook("onSend", ({ raw, routeOptions }, reply, payload, done) => {
    if (isStopped(raw.socket)) reply.header("connection", "close");
    if (!raw.complete) discardBody(raw, routeOptions.config?.keepsBytes);
    done(null, payload);
  });
}
