import { pipeline, Readable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createGzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createShares } from "../limits/shares.ts";
import type { App } from "./app.ts";
import { entriesOf } from "./headerLists.ts";
import { createUnreadTexts } from "./unreadTexts.ts";

/** Compressing a shorter response takes longer than sending it. */
const MIN_CHARACTERS = 16_384;
// For rows of a dataset level 1 is twice as fast as level 6, and the result is 8 % larger.
const GZIP = { level: 1, chunkSize: 65_536 };

/**
 * Responses that are compressed at once; further ones are sent as they are. Each takes 0.4 MB until its client has read it: 3,300
 * clients that read nothing took 1.7 GB.
 */
const MAX_COMPRESSED = 128;

/** Longer texts are sent in pieces. */
const MAX_CHARACTERS_AT_ONCE = 65_536;
/** Sent in pieces of so many bytes, a response that is read slowly is held once, and not once more for each connection. */
const PIECE_BYTES = 65_536;

/**
 * The bytes of long answers that requests share. Written in UTF-8 again for each of 200 clients, 7.5 million wide characters had
 * others wait for up to 0.35 s.
 */
const bytesOfAnswers = new WeakMap<object, Buffer>();

/**
 * Compresses large JSON responses with gzip, in chunks, on threads beside the event loop, and sends large texts in pieces.
 * `@fastify/compress` 9.2 leaves the ETag strong, although the same tag then stands for different bytes.
 */
export function compressResponses(app: App): void {
  const unreadTexts = createUnreadTexts();
  const compressed = createShares(MAX_COMPRESSED);
  const toSend = (request: FastifyRequest, reply: FastifyReply, { payload, bytes }: Sent): unknown => {
    const workspaceId = request.context?.access?.workspaceId;
    if (bytes && workspaceId !== undefined) {
      const owner = request.answer ?? request;
      unreadTexts.hold(reply.raw, workspaceId, {
        owner,
        bytes: bytes.length + heldBytes(payload as string, bytes),
      });
    }
    const encoding = encodingOf(request, reply, payload);
    const share = encoding === null ? undefined : compressed.take(workspaceId ?? "", 1);
    if (encoding === null || !share) {
      if (!bytes) return payload;
      reply.header("content-length", bytes.length);
      return Readable.from(piecesOf(bytes));
    }
    reply.header("content-encoding", encoding).removeHeader("content-length");
    const etag = reply.getHeader("etag");
    if (typeof etag === "string") reply.header("etag", `W/${etag}`); // weak: other bytes, the same content
    const source = payload instanceof Readable ? payload : Readable.from(bytes ? piecesOf(bytes) : [payload]);
    // An error of either stream destroys both; Fastify sees it on the stream that it sends.
    return pipeline(source, createGzip(GZIP), () => share.giveBack(1));
  };
  app.addHook("onSend", (request, reply, payload, done) => {
    if (request.method === "HEAD") return done(null, payload);
    const isLong = typeof payload === "string" && payload.length > MAX_CHARACTERS_AT_ONCE;
    if (!isLong) return done(null, toSend(request, reply, { payload }));
    bytesOf(payload, request)
      .then((bytes) => toSend(request, reply, { payload, bytes }))
      .then((sent) => done(null, sent), done);
  });
}

interface Sent {
  payload: unknown;
  /** Those of a long text. */
  bytes?: Buffer;
}

/** Null for a response that is sent as it is. */
function encodingOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): "gzip" | null {
  const isLarge =
    payload instanceof Readable || (typeof payload === "string" && payload.length >= MIN_CHARACTERS);
  if (!isLarge || !String(reply.getHeader("content-type")).includes("json")) return null;
  return chooseEncoding(request.headers["accept-encoding"], ["gzip"]);
}

/** What V8 holds of the text itself: one byte for each character where all are ASCII, else maybe two. */
const heldBytes = (text: string, bytes: Buffer) => (bytes.length === text.length ? 1 : 2) * text.length;

/** Each in a turn of its workspace: those of 20 answers of 14 MB, one behind the other, had others wait for 0.5 s. */
async function bytesOf(text: string, request: FastifyRequest): Promise<Buffer> {
  const { context } = request;
  const owner = request.answer ?? request;
  if (!bytesOfAnswers.has(owner) && context?.access) await context.database.turn(context.access.workspaceId);
  const bytes = bytesOfAnswers.get(owner) ?? Buffer.from(text);
  bytesOfAnswers.set(owner, bytes);
  return bytes;
}

/** One in a turn: the kernel takes megabytes of each of 200 connections at once, which had others wait for 0.26 s. */
async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (at > 0) await nextTurn(); // not after the last: a client that has all may send its next request
    yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

/** The first of the offered encodings that the header accepts; null when it accepts none of them. */
export function chooseEncoding<Encoding extends string>(
  acceptEncoding: string | undefined,
  offered: readonly Encoding[],
): Encoding | null {
  if (acceptEncoding === undefined) return null;
  const weights = new Map(entriesOf(acceptEncoding.toLowerCase()).map(toWeight));
  return offered.find((name) => (weights.get(name) ?? weights.get("*") ?? 0) > 0) ?? null;
}

function toWeight(part: string): [name: string, weight: number] {
  const [name = "", weight = "q=1"] = part.split(";", 2).map((each) => each.trim());
  return [name, weight.startsWith("q=") ? Number(weight.slice(2)) : 1];
}
