import type { Server } from "node:http";
import type { Socket } from "node:net";
import { countChunks } from "./chunks.ts";

/** Holds 110 requests of the least length, 18 bytes, and 340 chunks of one byte. */
const SLICE_BYTES = 2 * 1024;
/** More than the headers of a request, and than a client sends on before it reads its answer. */
const MAX_BYTES_WITHOUT_PROGRESS = 64 * 1024;

// An import would load what nothing here uses (src/http/server.ts).
const { IncomingMessage } = process.getBuiltinModule("node:http");

/** On the socket, as a WeakMap takes longer for each request. */
const STATE = Symbol("state");

interface State {
  /** Whether the rest of what it sends is dropped. */
  isStopped: boolean;
  /** Bytes that came since a request began, beyond twice those of its body: extensions of chunks may be as long as their data. */
  bytesWithoutProgress: number;
}

type Connection = Socket & { [STATE]?: State };

/** Whether the rest of what a connection sends is dropped: close it once its request is answered. */
export const isStopped = (socket: Connection): boolean => socket?.[STATE]?.isStopped === true;

/** A request that stops the parser of its connection when its body arrives in tiny chunks. */
export class ParsedRequest extends IncomingMessage {
  #chunks: ReturnType<typeof countChunks> | undefined;

  constructor(socket: Connection) {
    super(socket);
    if (socket[STATE]) socket[STATE].bytesWithoutProgress = 0;
  }

  override push(chunk: Buffer | null): boolean {
    const { [STATE]: state } = this.socket as Connection;
    if (chunk === null || !state) return super.push(chunk);
    state.bytesWithoutProgress = Math.max(0, state.bytesWithoutProgress - 2 * chunk.length);
    if (this.headers["transfer-encoding"] !== undefined) {
      this.#chunks ??= countChunks();
      this.#chunks.add(chunk.length);
      if (this.#chunks.isWasteful()) state.isStopped = true;
    }
    return super.push(chunk);
  }
}

/**
 * Passes the bytes of connections to the HTTP parser in small slices, and stops once a connection is closed, or a body of it
 * arrives in tiny chunks. Node.js parses each packet to its end: if 60 connections send 3,640 requests in one packet each, a
 * neighbour waits 1.2 s, and 0.12 s with slices; with 10,860 chunks it waits 0.6 to 1.3 s, and 0.02 to 0.08 s. The price is a
 * tenth of the rate of the smallest requests (docs/internals/decisions.md).
 *
 * Closes connections that send what is neither a request nor a body that somebody reads: after invalid HTTP, an upgrade that
 * is not made, or an answer that did not wait for the body, Node.js reads on and on, and so it does in the extensions of chunks,
 * which no other limit sees: 1.3 GB of them on 60 connections had others wait for 0.5 s.
 */
export function parseInSlices(server: Server): void {
  server.on("connection", (socket: Connection) => {
    const state: State = { isStopped: false, bytesWithoutProgress: 0 };
    socket[STATE] = state;
    const [parse] = socket.listeners("data") as ((this: typeof socket, slice: Buffer) => void)[];
    socket.off("data", parse!);
    socket.on("data", (packet: Buffer) => {
      state.bytesWithoutProgress += packet.length;
      for (let at = 0; at < packet.length && socket.writable && !state.isStopped; at += SLICE_BYTES)
        parse!.call(socket, packet.length > SLICE_BYTES ? packet.subarray(at, at + SLICE_BYTES) : packet);
      if (state.bytesWithoutProgress > MAX_BYTES_WITHOUT_PROGRESS) socket.destroy();
    });
  });
}
