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
  const giveUp = (reply: FastifyReply) => {
    const { raw, deadline, timeLimit } = reply.request;
    if (reply.raw.headersSent || reply.raw.destroyed) return;
    const nowMs = performance.now();
    if (!raw.complete) deadline.atMs = nowMs + limitMs;
    // What is lifted may be set again, and timers may come a millisecond early.
    if (nowMs <= deadline.atMs) timeLimit!.refresh();
    else reply.send(timedOut()).hijack(); // so that what its handler gives later is left alone
  };
  app.addHook("onRequest", (request, reply, done) => {
    request.deadline = { atMs: performance.now() + limitMs };
    request.timeLimit = setTimeout(giveUp, limitMs, reply).unref();
    done();
  });
  app.addHook("onResponse", (request, _, done) => {
    clearTimeout(request.timeLimit);
    done();
  });
}
