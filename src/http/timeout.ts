import type { FastifyReply } from "fastify";
import { type Deadline, endDeadline, timedOut } from "../limits/deadline.ts";
import type { App } from "./app.ts";
import { isStream } from "./limiter.ts";
import { readsBody } from "./unreadBodies.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** When it must be answered. */
    deadline: Deadline;
    /** The timer of its deadline. */
    timeLimit?: NodeJS.Timeout;
  }
}

/**
 * The request timeout: answers TIMED_OUT to requests whose work takes longer than `limitMs`, not counting the time in which
 * the body arrives. A response that has begun has no limit here. Fastify's `handlerTimeout` would count the arrival of bodies,
 * abort streams, and allow no operation a longer time.
 */
export function addTimeout(app: App, limitMs: number): void {
  const startTimer = (reply: FastifyReply, ms: number) => {
    reply.request.timeLimit = setTimeout(onTimer, ms, reply).unref();
  };
  const onTimer = (reply: FastifyReply) => {
    const { raw, deadline } = reply.request;
    if (reply.raw.headersSent) return;
    if (reply.raw.destroyed) return endDeadline(reply.request); // nobody waits for what may have no other deadline
    const nowMs = performance.now();
    if (!raw.complete && readsBody(reply.request)) deadline.atMs = nowMs + limitMs;
    const leftMs = Math.min(deadline.atMs - nowMs, limitMs); // a deadline that was removed may be set again
    // A timer fires early by the time for which the event loop was busy before it was set.
    if (leftMs >= 0) startTimer(reply, leftMs + 1);
    else reply.send(timedOut()).hijack(); // so that Fastify ignores what the handler returns later
  };
  app.addHook("onRequest", (request, reply, done) => {
    request.deadline = { atMs: performance.now() + limitMs };
    startTimer(reply, limitMs);
    done();
  });
  // A response that its client breaks off ends without `onResponse`, and the timer would keep its text. A refusal begins without
  // `onSend`.
  app.addHook("onSend", (request, _reply, payload, done) => {
    clearTimeout(request.timeLimit);
    // GraphQL can answer with the error of one field while others still work, which then count for no request.
    // A request that was refused before the hook above has none.
    if (request.deadline && !isStream(payload)) endDeadline(request);
    done();
  });
  app.addHook("onResponse", (request, _, done) => {
    clearTimeout(request.timeLimit);
    done();
  });
}
