import { pipeline, Readable } from "node:stream";
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

/** Sent in pieces of this many characters, a response that is read slowly is held once, and not once more for each connection. */
const PIECE_CHARACTERS = 65_536;

/**
 * Compresses large JSON responses with gzip, in chunks, on threads beside the event loop, and sends large texts in pieces.
 * `@fastify/compress` 9.2 leaves the ETag strong, although the same tag then stands for different bytes.
 */
export function compressResponses(app: App): void {
  const unreadTexts = createUnreadTexts();
  const compressed = createShares(MAX_COMPRESSED);
  app.addHook("onSend", (request, reply, payload, done) => {
    if (request.method === "HEAD") return done(null, payload);
    const encoding = encodingOf(request, reply, payload);
    const isLong = typeof payload === "string" && payload.length > PIECE_CHARACTERS;
    const length = isLong ? Buffer.byteLength(payload) : 0;
    const workspaceId = request.context?.access?.workspaceId;
    if (isLong && workspaceId !== undefined) {
      // V8 keeps one byte for each character of a text in ASCII, and else may keep two.
      const bytes = length === payload.length ? length : 2 * payload.length;
      unreadTexts.hold(reply.raw, workspaceId, { owner: request.answer ?? request, bytes });
    }
    const share = encoding === null ? undefined : compressed.take(workspaceId ?? "", 1);
    if (encoding === null || !share) {
      if (!isLong) return done(null, payload);
      reply.header("content-length", length);
      return done(null, Readable.from(slicesOf(payload)));
    }
    reply.header("content-encoding", encoding).removeHeader("content-length");
    const etag = reply.getHeader("etag");
    if (typeof etag === "string") reply.header("etag", `W/${etag}`); // weak: other bytes, the same content
    const source = payload instanceof Readable ? payload : Readable.from(slicesOf(payload as string));
    // An error of either stream destroys both; Fastify sees it on the stream that it sends.
    done(
      null,
      pipeline(source, createGzip(GZIP), () => share.giveBack(1)),
    );
  });
}

/** Null for a response that is sent as it is. */
function encodingOf(request: FastifyRequest, reply: FastifyReply, payload: unknown): "gzip" | null {
  const isLarge =
    payload instanceof Readable || (typeof payload === "string" && payload.length >= MIN_CHARACTERS);
  if (!isLarge || !String(reply.getHeader("content-type")).includes("json")) return null;
  return chooseEncoding(request.headers["accept-encoding"], ["gzip"]);
}

/** A character beyond the first 65,536 of Unicode is two of a string: apart from each other neither has bytes in UTF-8. */
function* slicesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; ) {
    const end = at + PIECE_CHARACTERS;
    const piece = text.slice(at, isHighSurrogate(text.charCodeAt(end - 1)) ? end + 1 : end);
    yield piece;
    at += piece.length;
  }
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff;

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
