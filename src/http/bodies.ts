import { Transform } from "node:stream";
import type { FastifyReply } from "fastify";
import { createShares, type Share } from "../limits/shares.ts";
import { chunksTooSmall, countChunks, discardBody } from "./unreadBodies.ts";

interface IncomingBody {
  workspaceId: string;
  reply: FastifyReply;
  /** Called when the body is complete; calls back when it may be parsed. */
  onComplete: (parse: () => void) => void;
  /** The error when the bodies exceed their limit. */
  refusal: () => Error;
}

/** Limits the bytes of the bodies of all requests that are not answered yet. */
export function createBodies(maxBytes: number) {
  const shares = createShares(maxBytes);
  return {
    /** Passes a body on while it arrives, and fails it when it would exceed the limit. */
    count: ({ workspaceId, reply, refusal, onComplete }: IncomingBody): Transform => {
      const chunks = countChunks();
      let share: Share | undefined;
      const body = new Transform({
        transform: (chunk: Buffer, _, done) => {
          const workspaceShare = shares.take(workspaceId, chunk.length);
          if (!workspaceShare) return done(refusal());
          share = workspaceShare;
          chunks.add(chunk.length);
          if (chunks.isWasteful()) return done(chunksTooSmall());
          done(null, chunk);
        },
        flush: (done) => onComplete(done),
      });
      const end = () => {
        share?.giveBack(chunks.bytes());
        share = undefined;
        // The body may not be read to its end, for example because it is too large.
        reply.request.raw.unpipe(body);
        discardBody(reply.request.raw);
      };
      reply.raw.once("finish", end).once("close", end);
      return body;
    },
  };
}
