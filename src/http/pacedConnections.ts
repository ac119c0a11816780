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
const PADDED = 8;
/** Before a message of gRPC: whether it is packed, and its length in four bytes. */
const PREFIX_BYTES = 5;
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
 * (docs/internals/decisions.md). Closes a connection when a message of it comes in many tiny DATA frames, or a call has more than one:
 * all calls here take one, and grpc-js unpacks those of a frame at once, 2,730 in 16 kB.
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
    socket.once("end", () => this.push(null));
    socket.once("close", () => this.destroy());
  }

  passSlice(): void {
    this.#isReady = false;
    if (this.destroyed) return;
    const { bytes, isRefused } = this.#readFrames(this.#unread);
    if (isRefused) return void this.destroy();
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

/** The DATA of a call: the number of its frames, and how much of its message is still to come, which is negative behind its end. */
function createCall() {
  const frames = countChunks({ minAverageBytes: MIN_AVERAGE_BYTES, freeChunks: FREE_FRAMES });
  let prefixBytes = 0;
  let left = 0;
  return {
    frames,
    /** Reads a part of its DATA. */
    read: (bytes: Buffer): void => {
      let at = 0;
      for (; prefixBytes < PREFIX_BYTES && at < bytes.length; at++, prefixBytes++)
        if (prefixBytes > 0) left = left * 256 + bytes[at]!;
      left -= bytes.length - at;
    },
    hasFurtherMessage: (): boolean => left < 0,
  };
}

/** Counts the DATA frames of a connection and of its calls; `isRefused` when they are too small, or a call has too many messages. */
function createDataCounter() {
  const ofConnection = countChunks({ freeChunks: FREE_FRAMES });
  const calls = new Map<number, ReturnType<typeof createCall>>();
  let current: ReturnType<typeof createCall> | undefined;
  let isRefused = false;
  return {
    begin: (call: number, { bytes, flags }: { bytes: number; flags: number }): void => {
      current = calls.get(call) ?? createCall();
      if (flags & PADDED) isRefused = true; // no client of gRPC pads
      if (flags & END_STREAM) return;
      calls.set(call, current);
      for (const frames of [ofConnection, current.frames]) {
        frames.add(bytes);
        isRefused ||= frames.isWasteful();
      }
      // The service ended the oldest one, and its client did not.
      if (calls.size > MAX_COUNTED_CALLS) calls.delete(calls.keys().next().value!);
    },
    read: (bytes: Buffer): void => {
      current?.read(bytes);
      if (current?.hasFurtherMessage()) isRefused = true;
    },
    /** What follows is no DATA. */
    end: (): void => {
      current = undefined;
    },
    forget: (call: number): void => void calls.delete(call),
    isRefused: (): boolean => isRefused,
  };
}

/**
 * Reads the frames of one connection: how many bytes of a packet make the next slice, and whether they are refused.
 *
 * A slice ends with the headers that begin a call, as Node.js reports the call after it has read all that it was given:
 * grpc-js throws, and ends the process, when the rest of the packet has reset a call of an unknown method by then.
 */
function createFrameReader() {
  const head = Buffer.alloc(HEAD_BYTES);
  const data = createDataCounter();
  let headBytes = 0;
  let bytesToSkip = PREFACE_BYTES;
  let beginsCall = false;
  const readHead = () => {
    headBytes = 0;
    bytesToSkip = head.readUIntBE(0, 3);
    const type = head[AT.type]!;
    const flags = head[AT.flags]!;
    beginsCall = type === HEADERS || type === CONTINUATION;
    const call = head.readUInt32BE(AT.call) & CALL_BITS;
    if (type === DATA) data.begin(call, { bytes: bytesToSkip, flags });
    else data.end();
    const endsCall = type === RST_STREAM || (type <= HEADERS && flags & END_STREAM);
    if (endsCall) data.forget(call);
  };
  return (packet: Buffer): { bytes: number; isRefused: boolean } => {
    let at = 0;
    let frames = 0;
    while (at < packet.length && frames < MAX_FRAMES_IN_SLICE) {
      const skipped = Math.min(bytesToSkip, packet.length - at);
      data.read(packet.subarray(at, at + skipped));
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
    return { bytes: at, isRefused: data.isRefused() };
  };
}
