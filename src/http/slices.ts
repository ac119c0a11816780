import type { Server } from "node:http";
import type { Socket } from "node:net";
import { countChunks } from "./chunks.ts";

/** Holds 110 requests of the least length, 18 bytes, and 340 chunks of one byte. */
const SLICE_BYTES = 2 * 1024;
/** Until its answer is sent; a client may not read it before it has sent its whole body. */
const MAX_DROPPED_BYTES = 64 * 1024;

// An import would load what nothing here uses (src/http/server.ts).
const { IncomingMessage } = process.getBuiltinModule("node:http");

/** The connections that sent a body in tiny chunks, with the bytes that had been read of each by then. */
const stoppedAt = new WeakMap<Socket, number>();

/** Whether the rest of what a connection sends is dropped: close it once its request is answered. */
export const isStopped = (socket: Socket): boolean => stoppedAt.has(socket);

/** A request that stops the parser of its connection when its body arrives in tiny chunks. */
export class ChunkedRequest extends IncomingMessage {
  #chunks: ReturnType<typeof countChunks> | undefined;

  override push(chunk: Buffer | null): boolean {
    if (chunk === null) return super.push(null);
    this.#chunks ??= countChunks();
    this.#chunks.add(chunk.length);
    if (this.#chunks.isWasteful()) stoppedAt.set(this.socket, this.socket.bytesRead);
    return super.push(chunk);
  }
}

/**
 * Passes the bytes of connections to the HTTP parser in small slices, and stops once a connection is closed, or a body of it
 * arrives in tiny chunks. Node.js parses each packet to its end: if 60 connections send 3,640 requests in one packet each, a
 * neighbour waits 1.2 s, and 0.12 s with slices; with 10,860 chunks it waits 0.7 to 1.3 s, and 0.06 to 0.11 s. The price is a
 * tenth of the rate of the smallest requests (docs/internals/decisions.md).
 */
export function parseInSlices(server: Server): void {
  server.on("connection", (socket) => {
    const [parse] = socket.listeners("data") as ((this: typeof socket, slice: Buffer) => void)[];
    socket.off("data", parse!);
    socket.on("data", (packet: Buffer) => {
      for (let at = 0; at < packet.length && socket.writable && !isStopped(socket); at += SLICE_BYTES)
        parse!.call(socket, packet.length > SLICE_BYTES ? packet.subarray(at, at + SLICE_BYTES) : packet);
      if (socket.bytesRead > (stoppedAt.get(socket) ?? Number.POSITIVE_INFINITY) + MAX_DROPPED_BYTES)
        socket.destroy();
    });
  });
}
