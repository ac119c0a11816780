import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { afterTurns } from "../limits/turns.ts";
import { countChunks } from "./chunks.ts";

const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;
const AT = { type: 3, flags: 4, call: 5 };
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const CONTINUATION = 9;
const END_STREAM = 1;
/** grpc-js keeps each frame of a message until its last one: a million frames of 67 bytes took 0.25 GB and 0.2 s to join. */
const MIN_AVERAGE_BYTES = 1024;
/** A message, and a connection, may have this many frames of any length. */
const FREE_FRAMES = 1_000;
/** Twice as many as a connection may have open. */
const MAX_COUNTED_CALLS = 200;
/** The first bit of the number of a call is reserved. */
const CALL_BITS = 0x7fff_ffff;
/** Frames of one byte take a microsecond each. */
const MAX_FRAMES_IN_SLICE = 64;

/**
 * Hands the bytes of connections to HTTP/2 one slice of a few frames after another, with turns of the event loop in between.
 * Node.js reads each packet to its end, and grpc-js begins all calls in it: with 100 calls on each of 200 connections a
 * neighbour waited 1.8 s, with frames of one byte 13 s, and with nothing but WINDOW_UPDATE frames 2.6 s
 * (docs/internals/decisions.md). Closes a connection when a message of it comes in many tiny DATA frames.
 */
export function createPacer(): (socket: Socket) => Duplex {
  const ready: Connection[] = [];
  const pass = () => {
    const beganMs = performance.now();
    ready[0]!.passSlice();
    ready.shift();
    if (ready.length > 0) afterTurns(beganMs, pass);
  };
  return (socket) => {
    const connection = new Connection(socket, () => {
      if (ready.push(connection) === 1) setImmediate(pass);
    });
    return connection;
  };
}

/** The other end reads from the socket what the pacer lets through, and writes to it. */
class Connection extends Duplex {
  readonly #socket: Socket;
  readonly #onReady: () => void;
  readonly #countFrames = createFrameCounter();
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
    socket.once("end", () => this.push(null));
    socket.once("close", () => this.destroy());
  }

  passSlice(): void {
    this.#isReady = false;
    if (this.destroyed) return;
    const { bytes, isWasteful } = this.#countFrames(this.#unread);
    if (isWasteful) return void this.destroy();
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
 * Counts the frames of one connection: how many bytes of a packet make the next slice, and whether its frames are too small.
 *
 * A slice ends with the headers that begin a call, as Node.js reports the call after it has read all that it was given:
 * grpc-js throws, and ends the process, when the rest of the packet has reset a call of an unknown method by then.
 */
function createFrameCounter() {
  const head = Buffer.alloc(HEAD_BYTES);
  const ofConnection = countChunks({ freeChunks: FREE_FRAMES });
  const ofCalls = new Map<number, ReturnType<typeof countChunks>>();
  let isWasteful = false;
  let headBytes = 0;
  let bytesToSkip = PREFACE_BYTES;
  let beginsCall = false;
  const readHead = () => {
    headBytes = 0;
    bytesToSkip = head.readUIntBE(0, 3);
    const type = head[AT.type]!;
    beginsCall = type === HEADERS || type === CONTINUATION;
    const call = head.readUInt32BE(AT.call) & CALL_BITS;
    const endsCall = type === RST_STREAM || (type <= HEADERS && head[AT.flags]! & END_STREAM);
    if (endsCall) ofCalls.delete(call);
    else if (type === DATA) countFrame(call, bytesToSkip);
  };
  const countFrame = (call: number, bytes: number) => {
    const ofCall =
      ofCalls.get(call) ?? countChunks({ minAverageBytes: MIN_AVERAGE_BYTES, freeChunks: FREE_FRAMES });
    ofCalls.set(call, ofCall);
    for (const frames of [ofConnection, ofCall]) {
      frames.add(bytes);
      isWasteful ||= frames.isWasteful();
    }
    // The service ended the oldest one, and its client did not.
    if (ofCalls.size > MAX_COUNTED_CALLS) ofCalls.delete(ofCalls.keys().next().value!);
  };
  return (packet: Buffer): { bytes: number; isWasteful: boolean } => {
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
      readHead();
      frames += 1;
    }
    return { bytes: at, isWasteful };
  };
}
