import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { createTurns } from "../limits/turns.ts";

const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;
const TYPE_AT = 3;
const HEADERS = 1;
const CONTINUATION = 9;
/** Frames of one byte take a microsecond each. */
const MAX_FRAMES_IN_SLICE = 64;

/**
 * Hands the bytes of connections to HTTP/2 one slice of a few frames after another, with turns of the event loop in between.
 * Node.js reads each packet to its end, and begins all calls in it: with 100 calls on each of 200 connections a neighbour
 * waited 1.8 s, with frames of one byte 13 s, and with nothing but WINDOW_UPDATE frames 2.6 s (docs/internals/decisions.md).
 * Workspaces take turns, and all connections without a valid token share those of one: 900 of them that sent PINGs had an export
 * of 4 MB fail.
 */
export function createPacer(): (socket: Socket) => PacedConnection {
  const turn = createTurns();
  return (socket) => {
    const connection = new Connection(socket, () => {
      turn(connection.workspaceId).then(() => connection.passSlice());
    });
    return connection;
  };
}

export interface PacedConnection extends Duplex {
  /** The workspace in whose turns it is read; empty until it has had a valid token. */
  workspaceId: string;
}

/**
 * The other end reads from the socket what the pacer lets through, and writes to it. Where a client ends its half of a
 * connection, all of it is closed: at an end Node.js begins to shut down what it writes to, and a frame that it writes in that turn ends
 * the process.
 */
class Connection extends Duplex implements PacedConnection {
  workspaceId = "";
  readonly #socket: Socket;
  readonly #onReady: () => void;
  readonly #readFrames = createFrameReader();
  #unread: Buffer = Buffer.alloc(0);
  #isWanted = false;
  #isReady = false;

  constructor(socket: Socket, onReady: () => void) {
    super({ readableHighWaterMark: 0 }); // a slice that is not read yet must not join the next one
    this.#socket = socket;
    this.#onReady = onReady;
    socket.on("data", (bytes: Buffer) => {
      socket.pause();
      this.#unread = bytes;
      this.#announce();
    });
    socket.once("end", () => this.destroy());
    socket.once("close", () => this.destroy());
  }

  passSlice(): void {
    this.#isReady = false;
    if (this.destroyed) return;
    const bytes = this.#readFrames(this.#unread);
    const slice = this.#unread.subarray(0, bytes);
    this.#unread = this.#unread.subarray(bytes);
    this.#isWanted = this.push(slice);
    if (this.#unread.length > 0) this.#announce();
    else this.#socket.resume();
  }

  #announce(): void {
    if (this.#isReady || !this.#isWanted || this.#unread.length === 0) return;
    this.#isReady = true;
    this.#onReady();
  }

  override _read(): void {
    this.#isWanted = true;
    this.#announce();
  }

  override _write(bytes: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(bytes, done);
  }

  override _final(done: () => void): void {
    this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    done(error);
  }
}

/**
 * Reads the frames of one connection: how many bytes of a packet make the next slice. It ends with the headers that begin a
 * call, so that calls begin one at a time.
 */
function createFrameReader(): (packet: Buffer) => number {
  const head = Buffer.alloc(HEAD_BYTES);
  let headBytes = 0;
  let bytesToSkip = PREFACE_BYTES;
  let beginsCall = false;
  return (packet) => {
    let at = 0;
    let frames = 0;
    while (at < packet.length && frames < MAX_FRAMES_IN_SLICE) {
      const skipped = Math.min(bytesToSkip, packet.length - at);
      bytesToSkip -= skipped;
      at += skipped;
      if (beginsCall && bytesToSkip === 0) {
        beginsCall = false;
        break;
      }
      const copied = packet.copy(head, headBytes, at, at + HEAD_BYTES - headBytes);
      headBytes += copied;
      at += copied;
      if (headBytes < HEAD_BYTES) break;
      headBytes = 0;
      bytesToSkip = head.readUIntBE(0, TYPE_AT);
      beginsCall = head[TYPE_AT] === HEADERS || head[TYPE_AT] === CONTINUATION;
      frames += 1;
    }
    return at;
  };
}
