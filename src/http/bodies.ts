import { Transform } from "node:stream";
import type { FastifyReply } from "fastify";
import { createShares, type Share } from "../limits/shares.ts";

interface Arriving {
  workspaceId: string;
  reply: FastifyReply;
  /** Called when all has arrived; calls back when the body may be read. */
  arrived: (read: () => void) => void;
  /** What to answer when too much is held. */
  refusal: () => Error;
}

/** Holds what has arrived of request bodies: at most so many bytes for all requests that are not answered. */
export function createBodies(maxBytes: number) {
  const shares = createShares(maxBytes);
  return {
    /** Passes a body on as it arrives, and breaks it off when it would hold too much. */
    hold: ({ workspaceId, reply, refusal, arrived }: Arriving): Transform => {
      let bytes = 0;
      let share: Share | undefined;
      const held = new Transform({
        transform: (chunk: Buffer, _, done) => {
          const taken = shares.take(workspaceId, chunk.length);
          if (!taken) return done(refusal());
          share = taken;
          bytes += chunk.length;
          done(null, chunk);
        },
        flush: (done) => arrived(done),
      });
      const end = () => {
        if (bytes > 0) share!.giveBack(bytes);
        bytes = 0;
        // Nobody may read it to its end, as when it is too large.
        reply.request.raw.unpipe(held);
        reply.request.raw.resume();
      };
      reply.raw.once("finish", end).once("close", end);
      return held;
    },
  };
}
