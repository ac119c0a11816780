import type { Readable } from "node:stream";
import { getHeapStatistics } from "node:v8";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createEventLoopSlots, type Place } from "../limits/eventLoop.ts";
import { createShares, type Share } from "../limits/shares.ts";
import type { App } from "./app.ts";
import { createBodies } from "./bodies.ts";
import { refusalError, refuse } from "./refusals.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** It is a probe of a monitor, which no limit applies to. */
    isProbe?: true;
    /** The share of its workspace that counts it while it is in flight. */
    share?: Share | undefined;
    /** Its place among the requests of its workspace that use the event loop, once its body has arrived. */
    place?: Place;
    /** It was refused because of overload. */
    isRefused?: true;
  }
}

/** Beyond these, requests are refused, so that the accepted ones are answered soon. */
export interface Limits {
  /** Requests that are accepted and not answered, whatever they wait for: a body, a worker, the database. */
  maxInFlight: number;
  /** Refusals that wait to be answered; further ones are answered at once. */
  maxDelayedRefusals: number;
  /** Bytes of all bodies that have arrived. Parsed JSON can take twenty times as much. */
  maxBodyBytes: number;
}

const DEFAULTS: Limits = {
  maxInFlight: 500,
  maxDelayedRefusals: 2_000,
  maxBodyBytes: Math.max(12 * 1024 * 1024, getHeapStatistics().heap_size_limit / 32),
};
/** How many requests of one workspace use the event loop at once. With 1,000, a neighbour of 400 callers waits five times as long. */
const MAX_RUNNING = 64;
/** The routes of monitors, which must always be answered. */
export const WATCHED = new Set(["/health", "/ready", "/metrics"]);
/** The workspace of requests without a token, or whose token was not looked up yet. */
const NOBODY = "";
/** Pages without a token and their assets. They are large, and rendered for each request. */
const PUBLIC = /^\/(?:docs|openapi\.json|graphql\/assets)(?:\/|$)/;
/** To hold a body costs 10 microseconds; 500 of these have 8 MB. */
const MAX_SMALL_BODY_BYTES = 16 * 1024;
const MAX_PUBLIC = 20;

/**
 * Sheds load: refuses what the service cannot do as UNAVAILABLE with Retry-After, as an endless queue would serve everybody
 * too late. Every limit is divided between the workspaces, so that none of them gets the others refused.
 */
export function createLimiter(given: Partial<Limits>, corsOrigins: string[]) {
  const limits = { ...DEFAULTS, ...given };
  const inFlight = createInFlight(limits.maxInFlight);
  const bodies = createBodies(limits.maxBodyBytes);
  const places = createEventLoopSlots(MAX_RUNNING);
  const refusals = createRefusals(corsOrigins, limits.maxDelayedRefusals);

  const leave = (request: FastifyRequest) => {
    request.share?.giveBack(1);
    request.share = undefined;
    request.place?.end();
  };
  /** Counts a request for a workspace, if that has room for it. */
  const enter = (request: FastifyRequest, workspaceId: string): boolean => {
    leave(request);
    request.share = inFlight.sharesOf(workspaceId, request).take(workspaceId, 1);
    return request.share !== undefined;
  };
  const countEach = (app: App) => {
    app.addHook("onRequest", (request, reply, done) => {
      if (WATCHED.has(request.routeOptions.url!)) {
        request.isProbe = true;
        return done();
      }
      if (!enter(request, NOBODY)) return refusals.answer(request, reply);
      reply.raw.once("close", () => leave(request));
      done();
    });
    app.addHook("onSend", (request, reply, payload, done) => {
      const isMade = isStream(payload) && !`${reply.getHeader("content-type")}`.includes("event-stream");
      if (!isMade) leave(request); // from here on it only waits for its reader, or for events
      request.place?.end();
      done();
    });
  };
  const shareOut = (app: App) => {
    // The first hook after the routes have authenticated the caller, and before the body is read.
    app.addHook("preParsing", (request, reply, payload, done) => {
      if (request.isProbe) return done(null, payload);
      const workspaceId = workspaceOf(request);
      if (!enter(request, workspaceId)) return refusals.answer(request, reply);
      if (isSmall(request)) return done(null, payload);
      // A body takes a place once it is complete: parsing is what takes time.
      const arrived = (next: () => void) => begin(places, request, reply, next);
      const held = bodies.hold({ workspaceId, reply, refusal: refusals.error, arrived });
      done(null, payload.pipe(held));
    });
    // After the body was parsed, as Fastify leaves the place when it has read one.
    app.addHook("preValidation", (request, reply, done) => {
      if (request.isProbe) return done();
      if (request.place) request.place.run(done);
      else begin(places, request, reply, done);
    });
  };
  return {
    /** Call it after the hooks that set headers of every answer, and before the routes. */
    watch: (app: App): void => {
      refusals.watch(app);
      countEach(app);
      shareOut(app);
    },
    /** How many requests are in flight. */
    inFlight: inFlight.total,
    /** How many were refused since the start. */
    refused: refusals.count,
  };
}

export type Limiter = ReturnType<typeof createLimiter>;

function createInFlight(max: number) {
  const ofWorkspaces = createShares(max);
  /** Requests without a token have shares of their own, and cannot exhaust those of workspaces. */
  const unknown = createShares(max);
  const publicRoutes = createShares(MAX_PUBLIC);
  return {
    sharesOf: (workspaceId: string, request: FastifyRequest): typeof unknown => {
      if (workspaceId !== NOBODY) return ofWorkspaces;
      return PUBLIC.test(request.routeOptions.url ?? "") ? publicRoutes : unknown;
    },
    total: (): number => ofWorkspaces.total() + unknown.total() + publicRoutes.total(),
  };
}

/** Continues a request once it has a place. */
function begin(places: Slots, request: FastifyRequest, reply: FastifyReply, next: () => void): void {
  request.place = places.enter(workspaceOf(request), next);
  if (reply.raw.destroyed) request.place.end();
}

type Slots = ReturnType<typeof createEventLoopSlots>;

/** Whether a request has no body, or one that is parsed in no time. */
function isSmall({ headers }: FastifyRequest): boolean {
  if (headers["transfer-encoding"] !== undefined) return false;
  return Number(headers["content-length"] ?? 0) <= MAX_SMALL_BODY_BYTES;
}

function workspaceOf({ context }: FastifyRequest): string {
  return context?.access?.workspaceId ?? NOBODY;
}

function isStream(payload: unknown): payload is Readable {
  return typeof (payload as Readable | null)?.pipe === "function";
}

const REPORT_INTERVAL_MS = 1_000;
/**
 * A refusal takes 45 microseconds. Without the delay, a thousand callers who retry at once are refused 10,000 times a second,
 * and only a fifth of the capacity is served; with it, 80 % is (docs/internals/decisions.md).
 */
const REFUSAL_DELAY_MS = 250;

/** Refuses requests, and counts them. */
function createRefusals(corsOrigins: string[], maxDelayed: number) {
  let total = 0;
  let delayed = 0;
  let unreported = 0;
  let app: App;
  /** Logs one line a second with the number: a line for each would cost as much as serving them. */
  const count = () => {
    total += 1;
    unreported += 1;
    if (unreported > 1) return;
    setTimeout(() => {
      app.log.warn({ refused: unreported }, "overloaded: requests were refused");
      unreported = 0;
    }, REPORT_INTERVAL_MS).unref();
  };
  return {
    watch: (watched: App) => {
      app = watched;
    },
    count: () => total,
    /** Answers after a delay, and past the hooks of Fastify, which cost twice as much. */
    answer: (request: FastifyRequest, reply: FastifyReply) => {
      count();
      request.isRefused = true;
      request.errorCode = "UNAVAILABLE";
      reply.hijack();
      request.raw.resume(); // nothing keeps its body meanwhile
      const respond = () => {
        delayed -= 1;
        if (app.isStopping()) reply.raw.setHeader("connection", "close");
        refuse(request.raw, reply.raw, corsOrigins);
      };
      delayed += 1;
      if (delayed > maxDelayed) respond();
      else setTimeout(respond, REFUSAL_DELAY_MS);
    },
    /** Counts a refusal of a request whose body has begun to arrive. */
    error: () => {
      count();
      return refusalError();
    },
  };
}
