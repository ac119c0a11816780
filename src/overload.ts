import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { type Readable, Transform, type TransformCallback } from "node:stream";
import { getHeapStatistics } from "node:v8";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import { createEarlyRefusals } from "./earlyRefusals.ts";
import { isRefusable, refusalError, refusalFor, refuse } from "./refusals.ts";
import { createRoster } from "./roster.ts";
import { createShedding } from "./shedding.ts";
import { createTurns } from "./turns.ts";

/** From when on requests are refused, so that those that are taken are answered soon. */
export interface Limits {
  /**
   * Requests that wait for the event loop, or whose answers have not begun or are being made; for a moment up to five
   * times as many.
   */
  mostWaiting: number;
  /** What is served within so long is not too much. */
  soonMs: number;
  /** What large bodies may hold together, as far as they have arrived. Read, JSON can take twenty times that. */
  mostHeldBytes: number;
}

const DEFAULTS: Limits = {
  mostWaiting: 200,
  soonMs: 250,
  mostHeldBytes: Math.max(12 * 1024 * 1024, getHeapStatistics().heap_size_limit / 32),
};
/** Smaller bodies are held by as many as are waiting, which is little. */
const LARGE_BODY_BYTES = 12 * 1024;
const MOST_AT_ONCE = 5; // times as many as usual
const TELLING_INTERVAL_MS = 1_000;

/**
 * Refuses what is more than the service can do, as UNAVAILABLE with Retry-After, before anything is read of it but its
 * head: whoever waits in a queue without end is served too late, and so is everybody behind. `heldMs` is as turns.ts takes
 * it.
 */
export function createOverload(given: Partial<Limits>, corsOrigins: string[], heldMs = () => 0) {
  const limits = { ...DEFAULTS, ...given };
  const turns = createTurns(heldMs, () => shedding.isRefusing());
  const work = createWork();
  const bodies = createHeldBodies(limits.mostHeldBytes);
  let log: (count: number) => void = () => {};
  let isStopping = () => false;
  let refused = 0;
  const load = () => turns.waiting() + work.count();
  const tell = (count = 1) => {
    refused += count;
    log(count);
  };
  const situation = () => ({ load: load(), usual: limits.mostWaiting, isStopping: isStopping() });
  const shedding = createShedding(situation, { corsOrigins, tell });
  const tellOne = (tookMs: number) => {
    shedding.refused();
    turns.refused(tookMs);
    tell();
  };

  return {
    /** Has requests pass only as long as they can be served; it stands before Fastify, whose own refusals cost more. */
    before: (handle: RequestListener): RequestListener => {
      const isTooMuch = createJudge(limits.mostWaiting, () => turns.mostIn(limits.soonMs));
      const isFull = () => isTooMuch(load());
      const early = createEarlyRefusals({
        isFull: () => isFull() && !isStopping(),
        isBusy: () => load() >= limits.mostWaiting / 2,
        refuse: (url) => (isRefusable(url) ? refusalFor(url) : undefined),
        refused: tellOne,
      });
      return (request, response) => {
        early.begin(request, response);
        if (!isRefusable(request.url!) || (!isFull() && turns.isFree())) handle(request, response);
        else if (!isFull()) turns.wait(() => response.destroyed || handle(request, response));
        else {
          const begun = performance.now();
          if (isStopping() || shedding.takeLeave(request)) response.shouldKeepAlive = false;
          refuse(request, response, corsOrigins);
          early.watch(request, response);
          tellOne(performance.now() - begun);
        }
      };
    },
    /** Counts what is at work and what it holds. */
    watch: (app: FastifyInstance): void => {
      log = createTelling(app.log);
      isStopping = () => app.isStopping();
      app.server.on("connection", turns.connected);
      work.watch(app);
      shedding.watch(app);
      bodies.watch(app, tell);
    },
    /** How many were refused since the start. */
    refused: (): number => {
      shedding.collect();
      return refused;
    },
  };
}

/**
 * Tells whether more wait than may. While the event loop is held, as by a disk that is slow for a moment, so many come that
 * more wait at once than usual, and yet are served soon: not too many. Only when still more wait, all that is above the
 * usual is refused, until the queue was all but gone once.
 */
export function createJudge(usual: number, mostSoon: () => number) {
  let isOverloaded = false;
  return (load: number): boolean => {
    if (load < usual) {
      isOverloaded &&= load > usual / 4;
      return false;
    }
    isOverloaded ||= load >= Math.min(MOST_AT_ONCE * usual, Math.max(usual, mostSoon()));
    return isOverloaded;
  };
}

/** What is at work: from when a body was read until the answer begins, and then for as long as it is being made. */
function createWork() {
  const begun = new WeakSet<IncomingMessage>();
  const streamed = createRoster<ServerResponse>();
  let unanswered = 0;
  return {
    watch: (app: FastifyInstance): void => {
      app.addHook("preHandler", (request, _, done) => {
        begun.add(request.raw);
        unanswered += 1;
        done();
      });
      app.addHook("onSend", (request, reply, payload, done) => {
        if (begun.delete(request.raw)) unanswered -= 1;
        const isMade = isStream(payload) && !`${reply.getHeader("content-type")}`.includes("event-stream");
        if (isMade) {
          const entry = streamed.add(reply.raw);
          reply.raw.once("close", () => streamed.remove(entry));
        }
        done();
      });
    },
    /** Without answers that only wait for their readers: those must not keep others out. */
    count: (): number => {
      if (streamed.size() === 0) return unanswered;
      return unanswered + streamed.count(({ writableNeedDrain }) => !writableNeedDrain);
    },
  };
}

function isStream(payload: unknown): payload is Readable {
  return typeof (payload as Readable | null)?.pipe === "function";
}

/** Breaks bodies off once large ones hold too much together. */
function createHeldBodies(mostBytes: number) {
  let heldBytes = 0;
  const hold = (tell: () => void) => {
    let ownBytes = 0;
    const transform = (chunk: Buffer, _: BufferEncoding, done: TransformCallback) => {
      ownBytes += chunk.length;
      heldBytes += chunk.length;
      if (heldBytes <= mostBytes) return done(null, chunk);
      tell();
      done(refusalError());
    };
    const release = () => {
      heldBytes -= ownBytes;
      ownBytes = 0;
    };
    return { held: new Transform({ transform }), release };
  };
  return {
    watch: (app: FastifyInstance, tell: () => void): void => {
      app.addHook("preParsing", ({ raw }, reply, payload, done) => {
        const { "content-length": length = 0, "transfer-encoding": encoding } = raw.headers;
        if (encoding === undefined && Number(length) <= LARGE_BODY_BYTES) return done(null, payload);
        const { held, release } = hold(tell);
        const end = () => {
          release();
          // Nobody may read it to its end, as when it is too large.
          payload.unpipe(held);
          raw.resume();
        };
        reply.raw.once("finish", end).once("close", end);
        done(null, payload.pipe(held));
      });
    },
  };
}

/** One line a second says how many were refused: one for each would cost as much as serving them. */
function createTelling(log: FastifyBaseLogger): (count: number) => void {
  let refused = 0;
  return (count) => {
    refused += count;
    if (refused > count) return;
    setTimeout(() => {
      log.warn({ refused }, "overloaded: requests were refused");
      refused = 0;
    }, TELLING_INTERVAL_MS).unref();
  };
}
