import type { IncomingHttpHeaders } from "node:http2";
import { type Readable, Transform } from "node:stream";
import { GabbroError } from "../../errors.ts";
import { chunksTooSmall, countChunks, joinChunks } from "../../http/chunks.ts";
import { type BodyOptions, readBody, tooLarge } from "./body.ts";
import { MAX_BODY_BYTES } from "./bounds.ts";

/** Before a message: whether it is packed, and its length in four bytes. */
const PREFIX_BYTES = 5;

/** Reads the one message of a call, unpacked, as `readBody` does, and waits until it may be decoded. */
export async function readMessage(
  stream: Readable,
  headers: IncomingHttpHeaders,
  options: BodyOptions,
): Promise<Buffer> {
  const { body, isPacked } = unframe(options);
  stream.once("close", () => body.destroy(cut()));
  stream.pipe(body);
  const encoding = (await isPacked) ? `${headers["grpc-encoding"]}` : undefined;
  return readBody(body, encoding, options);
}

/** Takes the prefix off the one message of a call, and fails where it is longer or shorter than that says. */
function unframe({ held, overloaded }: BodyOptions) {
  const { promise: isPacked, resolve, reject } = Promise.withResolvers<boolean>();
  const frames = countChunks();
  const joined = joinChunks();
  let prefix: Buffer = Buffer.alloc(0);
  let left = 0;
  const readPrefix = (chunk: Buffer): Buffer => {
    const missing = PREFIX_BYTES - prefix.length;
    if (missing === 0) return chunk;
    prefix = Buffer.concat([prefix, chunk.subarray(0, missing)]);
    if (prefix.length === PREFIX_BYTES) {
      left = prefix.readUInt32BE(1);
      if (left > MAX_BODY_BYTES) throw tooLarge();
      resolve(prefix[0] === 1);
    }
    return chunk.subarray(missing);
  };
  const body = new Transform({
    transform: (chunk: Buffer, _, done) => {
      try {
        if (!held.take(chunk.length)) throw overloaded();
        frames.add(chunk.length);
        if (frames.isWasteful()) throw chunksTooSmall();
        const part = readPrefix(chunk);
        left -= part.length;
        if (left < 0) throw furtherMessage();
        done(null, part.length > 0 ? joined.add(part) : undefined);
      } catch (error) {
        done(error as Error);
      }
    },
    flush: (done) => {
      if (prefix.length < PREFIX_BYTES || left > 0) return done(cut());
      done(null, joined.rest());
    },
  });
  body.on("error", reject); // it may come before the prefix
  return { body, isPacked };
}

const cut = () => new GabbroError("BAD_REQUEST", "The call ended before its message was complete.");

const furtherMessage = () =>
  new GabbroError("BAD_REQUEST", "The call has more bytes than its message. Send one message a call.");
