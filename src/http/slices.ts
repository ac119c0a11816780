import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { createRoundRobin } from "../limits/roundRobin.ts";
import { countChunks } from "./chunks.ts";

/** Holds 110 requests of the least length, 18 bytes, and 340 chunks of one byte. */
const SLICE_BYTES = 2 * 1024;
/** While other connections wait, of what may be chunks: holds 21 of one byte. */
const SHORT_SLICE_BYTES = 128;
/** Slices and chunks that all connections parse in one turn of the event loop: each takes a microsecond or two. */
const MAX_PIECES_IN_TURN = 2_000;
/** As many as the beginning of a request counts: to parse and refuse one takes 90 microseconds, so up to 50 begin in a turn. */
const PIECES_OF_BEGINNING = 30;
/** A head counts a piece for so many bytes: the router and others take up to 2 ms for 15 kB, so 3 of these begin in a turn. */
const BYTES_OF_HEAD_IN_PIECE = 25;
/** The line of connections without a request yet; no workspace has this identifier. */
const NEW = "new";
/** After that many the connections that wait are next. */
const PIECES_BETWEEN_OTHERS = 64;
/** More than the headers of a request, and than a client sends on before it reads its answer. */
const MAX_BYTES_WITHOUT_PROGRESS = 64 * 1024;

// An import would load what nothing here uses (src/http/server.ts).
const { IncomingMessage: Message } = process.getBuiltinModule("node:http");

/** On the socket, as a WeakMap takes longer for each request. */
const STATE = Symbol("state");

interface State {
  /** Whether the rest of what it sends is dropped. */
  isStopped: boolean;
  /** Bytes that came since a request began, beyond twice those of its body: extensions of chunks may be as long as their data. */
  bytesWithoutProgress: number;
  /** The request whose body is not complete. */
  request: IncomingMessage | null;
  /** Bytes of that body so far. */
  bodyBytes: number;
  /** Whether that request has as many of them as it takes before they are read. */
  isFull: boolean;
  /** Slices and chunks of that body. */
  pieces: number;
  /** Whether the next bytes of the body may be the rest of a chunk that was cut in two. */
  isCut: boolean;
  /** Whether a packet waits for its turn. */
  isWaiting: boolean;
  /** In whose line it waits: that of the workspace of its last request. */
  workspaceId: string;
  /** What all connections share. */
  turn: Turn;
}

type Connection = Socket & { [STATE]?: State };

/** Has the next request of a connection wait among those of the workspace, where many begin at once. */
export function waitAs(workspaceId: string, socket: Connection): void {
  const { [STATE]: state } = socket;
  if (state) state.workspaceId = workspaceId;
}

/** Has the rest of what a connection sends dropped. */
export function stop(socket: Connection): void {
  const { [STATE]: state } = socket;
  if (state) state.isStopped = true;
}

/** Whether the rest of what a connection sends is dropped: close it once its request is answered. */
export const isStopped = (socket: Connection): boolean => socket?.[STATE]?.isStopped === true;

/** Whether so much of a body came in tiny chunks that the rest is dropped. */
export const hasTinyChunks = (request: IncomingMessage): boolean =>
  request instanceof ParsedRequest && request.hasTinyChunks;

/** A request that stops the parser of its connection when its body arrives in tiny chunks. */
export class ParsedRequest extends Message {
  hasTinyChunks = false;
  #chunks: ReturnType<typeof countChunks> | undefined;

  constructor(socket: Connection) {
    super(socket);
    const { [STATE]: state } = socket;
    if (!state) return;
    state.bytesWithoutProgress = 0;
    state.request = this;
    state.bodyBytes = 0;
    state.isFull = false;
    state.pieces = 0;
    countPieces(state, PIECES_OF_BEGINNING);
  }

  /** Node.js resumes the connection here. */
  override _read(size: number): void {
    const { [STATE]: state } = (this.socket ?? {}) as Connection;
    if (state?.request === this) state.isFull = false;
    super._read(size);
  }

  override push(chunk: Buffer | null): boolean {
    const { [STATE]: state } = this.socket as Connection;
    if (!state) return super.push(chunk);
    if (chunk === null) {
      state.request = null;
      state.isFull = false; // what follows has none that could resume it
      return super.push(null);
    }
    state.bytesWithoutProgress = Math.max(0, state.bytesWithoutProgress - 2 * chunk.length);
    state.bodyBytes += chunk.length;
    if (isChunked(this)) {
      countPieces(state, 1);
      this.#chunks ??= countChunks();
      this.#chunks.add(chunk.length, state.isCut);
      state.isCut = false;
      if (this.#chunks.isWasteful()) {
        this.hasTinyChunks = true;
        state.isStopped = true;
      }
    }
    const takesMore = super.push(chunk);
    state.isFull = !takesMore;
    return takesMore;
  }
}

/** A turn of the event loop. */
interface Turn {
  /** How many slices and chunks were parsed in it. */
  pieces: number;
  /** Parse what waits. */
  waiting: ReturnType<typeof createRoundRobin<() => void>>;
}

function countPieces(state: State, count: number): void {
  state.pieces += 1;
  if (state.turn.pieces === 0) setImmediate(beginTurn, state.turn);
  state.turn.pieces += count;
}

function beginTurn(turn: Turn): void {
  turn.pieces = 0;
  while (turn.pieces < MAX_PIECES_IN_TURN && !turn.waiting.isEmpty()) turn.waiting.next()!();
}

/**
 * Passes the bytes of connections to the HTTP parser in small slices, and stops once a connection is closed, or a body of it
 * arrives in tiny chunks. Node.js parses each packet to its end: if 60 connections send 3,640 requests in one packet each, a
 * neighbour waits 1.2 s, and 0.12 s with slices; with 10,860 chunks it waits 0.6 to 1.3 s, and 0.02 to 0.08 s. The price is a
 * tenth of the rate of the smallest requests (docs/internals/decisions.md).
 *
 * All connections share the turns of the event loop: 1,500 connections without a token, each with 920 chunks of 64 bytes in a
 * packet, had a neighbour wait for 1.3 to 1.5 s; 3,900 with the beginning of a request each, for 0.5 s.
 *
 * Closes connections that send what is neither a request nor a body that somebody reads: after invalid HTTP, an upgrade that
 * is not made, or an answer that did not wait for the body, Node.js reads on and on, and so it does in the extensions of chunks,
 * which no other limit sees: 1.3 GB of them on 60 connections had others wait for 0.5 s.
 */
export function parseInSlices(server: Server): void {
  const turn: Turn = { pieces: 0, waiting: createRoundRobin() };
  server.on("connection", (socket: Connection) => {
    const state: State = {
      ...{ isStopped: false, bytesWithoutProgress: 0, request: null, bodyBytes: 0, isFull: false, pieces: 0 },
      ...{ isCut: false, isWaiting: false, workspaceId: NEW, turn },
    };
    socket[STATE] = state;
    const [parse] = socket.listeners("data") as ((this: typeof socket, slice: Buffer) => void)[];
    socket.off("data", parse!);
    endInTurn(socket, state);
    const parseFrom = (packet: Buffer, begin: number) => {
      const pieces = state.pieces + PIECES_BETWEEN_OTHERS;
      for (let at = begin; at < packet.length && socket.writable && !state.isStopped; ) {
        if (isToWait(state, pieces)) {
          state.isWaiting = true;
          socket.pause();
          return turn.waiting.add(state.workspaceId, () => parseFrom(packet, at));
        }
        const bytes = bytesOfSlice(state);
        const length = Math.min(bytes, packet.length - at);
        countPieces(state, state.request ? 1 : Math.ceil(length / BYTES_OF_HEAD_IN_PIECE));
        state.isCut = at > 0;
        parse!.call(socket, at > 0 || packet.length > bytes ? packet.subarray(at, at + bytes) : packet);
        at += bytes;
      }
      // The request resumes it when its body is read.
      if (state.isWaiting && !state.isFull) socket.resume();
      state.isWaiting = false;
      if (state.bytesWithoutProgress > MAX_BYTES_WITHOUT_PROGRESS) socket.destroy();
    };
    socket.on("data", (packet: Buffer) => {
      if (state.isWaiting) return putBack(socket, packet);
      state.bytesWithoutProgress += packet.length;
      parseFrom(packet, 0);
    });
  });
}

/** Has the end of a connection wait in its line as well: Node.js tells all that read an incomplete request, which takes 0.1 ms. */
function endInTurn(socket: Connection, state: State): void {
  const { turn } = state;
  const end = socket.listeners("end").at(-1) as (this: typeof socket) => void;
  socket.off("end", end);
  const endNow = () => {
    if (socket.destroyed) return;
    if (state.isWaiting) return turn.waiting.add(state.workspaceId, endNow); // behind what came before
    countPieces(state, PIECES_OF_BEGINNING);
    end.call(socket);
  };
  socket.on("end", () => {
    if (turn.pieces < MAX_PIECES_IN_TURN) endNow();
    else turn.waiting.add(state.workspaceId, endNow);
  });
}

/** Node.js resumes a connection when it has sent what waited for its client. */
function putBack(socket: Socket, packet: Buffer): void {
  socket.pause();
  socket.unshift(packet);
}

function isToWait({ turn, request, pieces }: State, most: number): boolean {
  return turn.pieces >= MAX_PIECES_IN_TURN || (request !== null && pieces >= most && !turn.waiting.isEmpty());
}

/** A slice of a body of known length ends with it: what follows waits like the beginning of any other request. */
function bytesOfSlice({ turn, request, bodyBytes }: State): number {
  if (request && !isChunked(request))
    return Math.min(SLICE_BYTES, Number(request.headers["content-length"]) - bodyBytes) || SLICE_BYTES;
  const doOthersWait = !turn.waiting.isEmpty() || turn.pieces >= MAX_PIECES_IN_TURN;
  return doOthersWait ? SHORT_SLICE_BYTES : SLICE_BYTES;
}

const isChunked = ({ headers }: IncomingMessage) => headers["transfer-encoding"] !== undefined;
