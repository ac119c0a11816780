import type { FastifyReply } from "fastify";
import { type Deadline, timedOut } from "./deadline.ts";
import type { RestApp } from "./rest/app.ts";
import { createRoster, type Entry } from "./roster.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Until when it is to be answered. */
    deadline: Deadline;
    /** Its place among those whose time is limited. */
    limited?: Entry<FastifyReply>;
  }
}

const MOST_LOOKS_MS = 500;

/**
 * Answers TIMED_OUT to requests for which the work takes longer than that, not counting the time in which their bodies
 * are sent. An answer that has begun takes as long as its reader. One timer for all: one for each would cost more than
 * all the rest of this.
 */
export function limitTime(app: RestApp, limitMs: number): void {
  const underWay = createRoster<FastifyReply>();
  app.addHook("onRequest", (request, reply, done) => {
    request.deadline = { atMs: performance.now() + limitMs };
    request.limited = underWay.add(reply);
    done();
  });
  app.addHook("onResponse", (request, _, done) => {
    if (request.limited) underWay.remove(request.limited); // not when it was refused before
    done();
  });
  const giveUp = () => {
    const nowMs = performance.now();
    for (const reply of underWay.all()) {
      const { raw, deadline, limited } = reply.request;
      if (reply.raw.headersSent || reply.raw.destroyed) underWay.remove(limited!);
      else if (!raw.complete) deadline.atMs = nowMs + limitMs;
      else if (nowMs > deadline.atMs) {
        underWay.remove(limited!);
        reply.send(timedOut()).hijack(); // so that what its handler gives later is left alone
      }
    }
  };
  const looks = setInterval(giveUp, Math.min(MOST_LOOKS_MS, limitMs)).unref();
  app.addHook("onClose", async () => clearInterval(looks));
}
