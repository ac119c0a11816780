import type { FastifyReply } from "fastify";
import { type Deadline, timedOut } from "../limits/deadline.ts";
import type { App } from "./app.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Until when it is to be answered. */
    deadline: Deadline;
    /** Gives it up at its deadline. */
    timeLimit?: NodeJS.Timeout;
  }
}

/**
 * Answers TIMED_OUT to requests for which the work takes longer than that, not counting the time in which their bodies
 * are sent. An answer that has begun takes as long as its reader. Fastify's `handlerTimeout` would count the sending of
 * bodies, break streams off, and let no operation take longer.
 */
export function addTimeout(app: App, limitMs: number): void {
  const startTimer = (reply: FastifyReply, ms: number) => {
    reply.request.timeLimit = setTimeout(giveUp, ms, reply).unref();
  };
  const giveUp = (reply: FastifyReply) => {
    const { raw, deadline } = reply.request;
    if (reply.raw.headersSent || reply.raw.destroyed) return;
    const nowMs = performance.now();
    if (!raw.complete) deadline.atMs = nowMs + limitMs;
    const leftMs = Math.min(deadline.atMs - nowMs, limitMs); // what is lifted may be set again
    // A timer comes early by as long as the event loop was busy before it was set.
    if (leftMs >= 0) startTimer(reply, leftMs + 1);
    else reply.send(timedOut()).hijack(); // so that what its handler gives later is left alone
  };
  app.addHook("onRequest", (request, reply, done) => {
    request.deadline = { atMs: performance.now() + limitMs };
    startTimer(reply, limitMs);
    done();
  });
  app.addHook("onResponse", (request, _, done) => {
    clearTimeout(request.timeLimit);
    done();
  });
}
