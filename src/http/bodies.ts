import { Transform } from "node:stream";
import type { FastifyReply } from "fastify";
import { GabbroError } from "../errors.ts";
import { createFairQueue } from "../limits/fairQueue.ts";
import { onceDone } from "../limits/handlerWork.ts";
import { createShares, type Share } from "../limits/shares.ts";
import { passTurns } from "../limits/turns.ts";
import { createBodyTurns } from "./bodyTurns.ts";
import { chunksTooSmall, joinChunks } from "./chunks.ts";
import { hasTinyChunks } from "./slices.ts";
import { discardBody } from "./unreadBodies.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Counts the values of a body of more than 4 kB, beside its bytes. Throws when the bodies exceed their limit. */
    holdValues?: (values: number) => void;
  }
}

interface IncomingBody {
  workspaceId: string;
  reply: FastifyReply;
  /**
   * How the route reads the body. A streamed one is not in memory until it is answered; of one that may be unpacked the route
   * says how long it is.
   */
  reading: "whole" | "unpacked" | "streamed";
  /** Called when the body is complete; calls back when it may be parsed. */
  onComplete: (parse: () => void) => void;
  /** The error when the bodies exceed their limit. */
  refusal: () => Error;
}

/** What work on a body holds, for example the unpacked body. */
export interface HeldBytes {
  /** Counts further bytes; false when there is no room for them, or after the release. */
  take(bytes: number): boolean;
  /**
   * Waits for the large bodies of the workspace before, if this one is large with so many bytes; others then wait for its
   * release. Throws when it is released meanwhile: nobody waits for the answer any more.
   */
  waitForOthers(bytes: number): Promise<void>;
  release(): void;
}

/**
 * Of a workspace. Node.js reads up to 2 MB of a connection in one turn of the event loop. 200 bodies of 3.6 MB, each with 64 kB in a
 * turn, had others wait for 243 to 298 ms on SQLite and for 217 to 373 on PostgreSQL, and 50 of them were answered.
 */
const MAX_BYTES_IN_TURN = 64 * 1024;
/** Smaller chunks take as long as one of this size: 12 bodies in chunks of 64 bytes had others wait for 0.3 s. */
const MIN_COUNTED_BYTES = 1024;
/** So much of each body passes before what follows of others: a small one does not wait for large ones that began before. */
const FIRST_BYTES = 16 * 1024;
/** What takes as long as refusing a body, of which there may be hundreds: half a millisecond. */
const REFUSAL_BYTES = 8 * 1024;

/**
 * Larger bodies of a workspace are parsed and answered one after another: each makes turns of 20 to 100 ms when it is parsed,
 * validated and stored, and a request of another workspace would wait for several of them at each of its own steps. It also
 * has more of them answered in time: of 64 exporters with 734 kB each, 38 and not 27 to 32 in 10 s on SQLite, 17 to 19 and
 * not 11 to 13 on PostgreSQL, where four exporters are as fast as before. Their values count as
 * below: 64 callers with 80,000 empty objects in 240 kB had others wait for 281, 275 and 299 ms, and now for 178 and 190.
 */
const MAX_BYTES_BESIDE_OTHERS = 256 * 1024;
/** Of which each is followed by a value. */
const [COMMA, BRACKET, BRACE] = Buffer.from(",[{");

/**
 * What each comma and each opening bracket or brace of JSON counts beside its text once a body is parsed: `{},` has 3 bytes and
 * takes 66. Without, 88 requests of 255 kB that waited for a template ended a process with a heap of 512 MB.
 */
const BYTES_PER_VALUE = 8;

/** Limits the bytes of the bodies of all requests that are not answered yet. */
export function createBodies(maxBytes: number) {
  const shares = createShares(maxBytes);
  let begun = 0;
  const inTurn = createBodyTurns(MAX_BYTES_IN_TURN);
  const busy = "Too many large bodies are under way; try again in a moment.";
  const largeBodies = createFairQueue({ places: 1_000, share: 1, maxWaiting: 500, maxWaitMs: 10_000, busy });
  /** Waits until the large bodies before are answered, and as many turns as accept the connections of others. */
  const waitForOthers = async (workspaceId: string, bytes: number): Promise<() => void> => {
    if (bytes <= MAX_BYTES_BESIDE_OTHERS) return () => {};
    const release = await largeBodies.acquire(workspaceId);
    return () => void passTurns().then(release);
  };
  return {
    /** Counts bytes that are held beside the bodies, until they are released. */
    hold: (workspaceId: string): HeldBytes =>
      holdBytes(shares, workspaceId, (bytes) => waitForOthers(workspaceId, bytes)),
    /** Passes a body on while it arrives, and fails it when it would exceed the limit. */
    count: ({ workspaceId, reply, reading, refusal, onComplete }: IncomingBody): Transform => {
      const { raw } = reply.request;
      const number = ++begun;
      // An upload names no workspace, so all of them would share one lane; its bytes do not stay in memory.
      const lane = reading === "streamed" ? `upload ${number}` : workspaceId;
      let bytes = 0;
      let values = 0;
      const held = holdBytes(shares, workspaceId, (bytes) => waitForOthers(workspaceId, bytes));
      reply.request.holdValues = (values) => {
        if (!reply.raw.closed && !held.take(values * BYTES_PER_VALUE)) throw refusal();
      };
      const joined = joinChunks();
      const body = new Transform({
        transform: (chunk: Buffer, _, done) => {
          bytes += chunk.length;
          const rank = bytes > FIRST_BYTES ? number : 0;
          const pass = (bytes: number, pass: () => void) => inTurn(lane, { rank, bytes, pass });
          if (reading !== "streamed" && !held.take(chunk.length))
            return pass(REFUSAL_BYTES, () => done(refusal()));
          if (reading === "whole" && bytes <= MAX_BYTES_BESIDE_OTHERS) values += valuesIn(chunk);
          if (hasTinyChunks(raw)) return pass(REFUSAL_BYTES, () => done(chunksTooSmall()));
          const piece = joined.add(chunk);
          pass(Math.max(chunk.length, MIN_COUNTED_BYTES), () => done(null, piece));
        },
        flush: (done) => {
          const rest = joined.rest();
          if (rest) body.push(rest);
          if (reading !== "whole") return done();
          waitForOthers(workspaceId, bytes + values * BYTES_PER_VALUE).then((endTurn) => {
            if (reply.raw.closed) return endTurn();
            onceDone(reply.raw, endTurn);
            onComplete(done);
          }, done);
        },
      });
      body.on("error", () => {}); // the route may not have begun to read
      onceDone(reply.raw, held.release);
      const end = () => {
        // Else up to 500 bodies that wait for others stay in memory, for which nobody waits any more.
        // Of an upload the handler still reads what has passed. What Node.js has read besides would never follow, nor an end.
        const isRead = reading === "streamed" ? body.writableEnded : body.readableEnded;
        if (!isRead) body.destroy(brokenOff());
        // The body may not be read to its end, for example because it is too large.
        reply.request.raw.unpipe(body);
        discardBody(reply.request.raw);
      };
      reply.raw.once("finish", end).once("close", end);
      return body;
    },
  };
}

/** Takes 1 ms for 256 kB; `for … of` takes 9. */
function valuesIn(json: Buffer): number {
  let values = 0;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (byte === COMMA || byte === BRACKET || byte === BRACE) values += 1;
  }
  return values;
}

function holdBytes(
  shares: ReturnType<typeof createShares>,
  workspaceId: string,
  waitForOthers: (bytes: number) => Promise<() => void>,
): HeldBytes {
  let share: Share | undefined;
  let held = 0;
  let endTurn = () => {};
  const released = Promise.withResolvers<void>();
  let isReleased = false;
  return {
    take: (bytes) => {
      const workspaceShare = isReleased ? undefined : shares.take(workspaceId, bytes);
      if (!workspaceShare) return false;
      share = workspaceShare;
      held += bytes;
      return true;
    },
    waitForOthers: async (bytes) => {
      const turn = waitForOthers(bytes).then((end) => {
        if (isReleased) end();
        else endTurn = end;
      });
      await Promise.race([turn, released.promise]);
      if (isReleased) throw brokenOff();
    },
    release: () => {
      isReleased = true;
      released.resolve();
      share?.giveBack(held);
      share = undefined;
      endTurn();
    },
  };
}

/** Nobody receives this error: it ends the work on a body whose connection was closed. */
function brokenOff(): GabbroError {
  return new GabbroError("BAD_REQUEST", "The connection was closed before the body was complete.");
}
