import type { Readable } from "node:stream";
import { getHeapStatistics } from "node:v8";
import type { FastifyReply, FastifyRequest } from "fastify";
import { createEventLoopSlots, type Place } from "../limits/eventLoop.ts";
import { beginWork, endWork, onceDone } from "../limits/handlerWork.ts";
import type { Share } from "../limits/shares.ts";
import type { App } from "./app.ts";
import { createBodies } from "./bodies.ts";
import { createInFlight, NO_WORKSPACE } from "./inFlight.ts";
import { createRefusals, type ErrorBody } from "./refusals.ts";
import { waitAs } from "./slices.ts";
import { readsBody } from "./unreadBodies.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** It is a probe of a monitor: it is never refused, but waits for its place. */
    isProbe?: true;
    /** The share of its workspace, which counts it while it is in flight. */
    share?: Share | undefined;
    /** Its place among the requests of its workspace that use the event loop. */
    place?: Place | undefined;
    /** It was refused because of overload. */
    isRefused?: true;
  }
  interface FastifyContextConfig {
    /** Its bodies stay bytes, which are outside of the heap: they have a limit of their own. */
    keepsBytes?: true;
    /** Encodes its errors, where they are not the JSON of REST. */
    errorBody?: ErrorBody;
    /** The route reads its body as a stream, while it holds its place. */
    streamsBody?: true;
    /** The route answers subscriptions alone as streams: they wait for events, and have a limit of their own. */
    streamsEvents?: true;
    /** Its callers have no token, and send bodies. */
    signsIn?: true;
  }
}

/** Requests beyond these limits are refused, so that accepted ones are answered soon. */
export interface Limits {
  /** Requests that are worked on or not answered yet, including those that wait for a body, a worker or the database. */
  maxInFlight: number;
  /** Bytes of the bodies of all unanswered requests. Parsed JSON can take twenty times as much, so its values count besides. */
  maxBodyBytes: number;
  /** The same for routes that keep bodies as bytes; unpacked bodies count as well. */
  maxKeptBytes: number;
}

const DEFAULTS: Limits = {
  maxInFlight: 500,
  maxBodyBytes: Math.max(16 * 1024 * 1024, getHeapStatistics().heap_size_limit / 32),
  maxKeptBytes: 256 * 1024 * 1024,
};
/** Requests of a workspace that use the event loop at once. With 1,000, a neighbour of 400 callers waits five times as long. */
const MAX_RUNNING = 64;
/** The routes of monitors, which must always be answered. */
export const PROBES = new Set(["/health", "/ready", "/metrics"]);
/** Counting a body costs 10 microseconds. Smaller ones are parsed outside of all places: 480 of 16 kB that end at once take 0.4 s. */
const MAX_SMALL_BODY_BYTES = 4 * 1024;

/**
 * Load shedding: refuses requests beyond the limits as UNAVAILABLE with Retry-After. An endless queue would answer every
 * request too late. Each limit is divided between the workspaces, so that none of them can exhaust it for the others.
 */
export function createLimiter(options: Partial<Limits>, corsOrigins: string[]) {
  const limits = { ...DEFAULTS, ...options };
  const inFlight = createInFlight(limits.maxInFlight);
  const places = createEventLoopSlots(MAX_RUNNING);
  const refusals = createRefusals(corsOrigins);
  const bodies = createBodyLimits(limits, places, refusals.error);

  const leave = (request: FastifyRequest) => {
    request.share?.giveBack(1);
    request.share = undefined;
    request.place?.end();
    request.place = undefined;
  };
  /** Counts a request for a workspace, if the workspace has room for it. */
  const enter = (request: FastifyRequest, workspaceId: string): boolean => {
    leave(request);
    waitAs(workspaceId, request.raw.socket);
    request.share = inFlight.take(workspaceId, request);
    return request.share !== undefined;
  };
  const countRequests = (app: App, lastWorkspaceOf: LastWorkspaceOf) => {
    app.addHook("onRequest", (request, reply, done) => {
      // Reset by its client, before Node.js tells: nobody waits for it, and limits by address have none.
      if (request.socket.remoteAddress === undefined) return void reply.hijack();
      onceDone(reply.raw, () => leave(request));
      if (PROBES.has(request.routeOptions.url!)) {
        request.isProbe = true;
        return void takePlace(places, request, { workspaceId: laneOfProbes(request.ip), next: done });
      }
      const workspaceId = lastWorkspaceOf(request) ?? NO_WORKSPACE;
      if (!enter(request, workspaceId)) return refusals.answer(request, reply);
      if (workspaceId !== NO_WORKSPACE && !request.is404) return done();
      // Most of these are refused by a hook, before they would take a place: all connections would be answered in one turn.
      takePlace(places, request, { workspaceId, next: done });
    });
  };
  const divideLimits = (app: App) => {
    // The first hook after authentication, before the body is read.
    app.addHook("preParsing", (request, reply, payload, done) => {
      if (request.isProbe) return done(null, payload);
      // It closed while its token was looked up: nobody waits for it, and no event would give back what it takes from here on.
      if (reply.raw.closed) return void reply.hijack();
      if (!enter(request, workspaceOf(request))) return refusals.answer(request, reply);
      const reading = readingOf(request);
      if (reading !== "streamed" && isSmall(request)) return done(null, payload);
      done(null, payload.pipe(bodies.count(request, reply, reading)));
    });
    // Once the body is parsed: Fastify leaves the async context of the place when it reads a body.
    app.addHook("preValidation", (request, reply, done) => {
      if (request.isProbe) return done();
      if (request.place) request.place.run(done);
      else begin(places, request, reply, done);
    });
  };
  return {
    /** Call it after the hooks that set headers of every response, and before those that refuse requests. */
    watch: (app: App, lastWorkspaceOf: LastWorkspaceOf): void => {
      refusals.watch(app);
      countRequests(app, lastWorkspaceOf);
      endAnswered(app, leave);
      divideLimits(app);
    },
    /** For routes that keep bodies as bytes: what they hold besides. */
    holdBytes: bodies.hold,
    /** Counts a request that comes by another protocol than HTTP, until it is released; undefined when it is refused. */
    enterCall: (workspaceId: string): Share | undefined => inFlight.ofWorkspaces.take(workspaceId, 1),
    /** Calls `work` in the turn of a caller without a token, for requests that no hook sees. */
    inTurn: (work: () => void): void => answerInTurn(places, work),
    /** The error for a request that is refused after it was accepted; counts it. */
    overloaded: refusals.error,
    inFlight: inFlight.total,
    /** How many requests were refused since the start. */
    refused: refusals.count,
  };
}

/** From here on a request waits only for its client, or for events; a stream is still being read. */
function endAnswered(app: App, leave: (request: FastifyRequest) => void): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    // Nobody reads it, but Fastify would do so to its end, after the response and so outside of all limits.
    if (request.method === "HEAD" && isStream(payload)) payload.destroy();
    const isStreaming = isStream(payload) && !request.routeOptions.config.streamsEvents;
    if (!isStreaming) leave(request);
    request.place?.end();
    endWork(reply.raw);
    done();
  });
}

/** The workspace of a request whose token was valid when it was last looked up; undefined for all others. */
type LastWorkspaceOf = (request: FastifyRequest) => string | undefined;

export type Limiter = ReturnType<typeof createLimiter>;
type Slots = ReturnType<typeof createEventLoopSlots>;

function createBodyLimits({ maxBodyBytes, maxKeptBytes }: Limits, places: Slots, refusal: () => Error) {
  const bodies = createBodies(maxBodyBytes);
  const keptBodies = createBodies(maxKeptBytes);
  return {
    count: (request: FastifyRequest, reply: FastifyReply, reading: ReturnType<typeof readingOf>) => {
      // A request takes its place when its body is complete: parsing takes the time, not receiving.
      const onComplete = (parse: () => void) => begin(places, request, reply, parse);
      const counted = request.routeOptions.config.keepsBytes ? keptBodies : bodies;
      return counted.count({ workspaceId: workspaceOf(request), reply, reading, refusal, onComplete });
    },
    hold: keptBodies.hold,
  };
}

/** Continues a request once it has a place. */
function begin(places: Slots, request: FastifyRequest, reply: FastifyReply, next: () => void): void {
  const workspaceId = workspaceOf(request);
  const beginNext = () => {
    beginWork(reply.raw);
    next();
  };
  const place = takePlace(places, request, { workspaceId, next: beginNext });
  if (reply.raw.closed) onceDone(reply.raw, place.end);
}

/** Of eight, each begins requests for 10 ms a turn: with one for each address, a caller with many would make endless turns. */
const laneOfProbes = (address: string): string => `probes ${Buffer.from(address).at(-1)! % 8}`;

function answerInTurn(places: Slots, work: () => void): void {
  places.enter(NO_WORKSPACE, (place) => {
    work();
    place.end();
  });
}

/** Gives a request the place in which it waits, and goes on. When it goes on at once, it may have the next place on return. */
function takePlace(
  places: Slots,
  request: FastifyRequest,
  { workspaceId, next }: { workspaceId: string; next: () => void },
): Place {
  let isWaiting = true;
  const place = places.enter(workspaceId, (own) => {
    isWaiting = false;
    request.place = own;
    next();
  });
  if (isWaiting) request.place = place;
  return place;
}

function readingOf({ routeOptions: { config } }: FastifyRequest): "whole" | "unpacked" | "streamed" {
  if (config.streamsBody) return "streamed";
  return config.keepsBytes ? "unpacked" : "whole";
}

/** Whether a request has no body that is read, or one whose parsing takes next to no time. */
function isSmall(request: FastifyRequest): boolean {
  const { headers } = request;
  if (!readsBody(request)) return true;
  if (headers["transfer-encoding"] !== undefined) return false;
  return Number(headers["content-length"] ?? 0) <= MAX_SMALL_BODY_BYTES;
}

const workspaceOf = ({ context }: FastifyRequest): string => context?.access?.workspaceId ?? NO_WORKSPACE;

export const isStream = (payload: unknown): payload is Readable =>
  typeof (payload as Readable | null)?.pipe === "function";
