import type { Server } from "node:http";

/** Holds 110 requests of the least length, 18 bytes. */
const SLICE_BYTES = 2 * 1024;

/**
 * Passes the bytes of connections to the HTTP parser in small slices, and stops once a connection is closed. Node.js parses
 * each packet to its end: if 60 connections send 3,640 requests in one packet each, a neighbour waits 1.2 s, and 0.12 s with
 * slices. The price is a tenth of the rate of the smallest requests (docs/internals/decisions.md).
 */
export function parseInSlices(server: Server): void {
  server.on("connection", (socket) => {
    const [parse] = socket.listeners("data") as ((this: typeof socket, slice: Buffer) => void)[];
    socket.off("data", parse!);
    socket.on("data", (packet: Buffer) => {
      if (packet.length <= SLICE_BYTES) return parse!.call(socket, packet);
      for (let at = 0; at < packet.length && socket.writable; at += SLICE_BYTES)
        parse!.call(socket, packet.subarray(at, at + SLICE_BYTES));
    });
  });
}
