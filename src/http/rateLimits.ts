import type { CreateRateLimitOptions } from "@fastify/rate-limit";
import type { Config } from "../config.ts";
import { GabbroError } from "../errors.ts";
import type { App, FastifyReply } from "./app.ts";
import { WATCHED } from "./limiter.ts";

const WINDOW_MS = 60_000;
/** Of more tokens or addresses in a minute, those that have not come for longest are counted anew. */
const MOST_COUNTED = 10_000;

/**
 * Answers TOO_MANY_REQUESTS to a token or an address that sends more requests in a minute than it may. Who is asking is
 * known from the token once it was found; a token that nobody knows is no other than its address.
 */
export async function limitRates(app: App, { perToken, perAddress }: Config["rateLimits"]): Promise<void> {
  if (perToken === null && perAddress === null) return;
  const { default: rateLimit } = await import("@fastify/rate-limit");
  await app.register(rateLimit, { global: false });
  const counter = (options: CreateRateLimitOptions) => {
    const bounded = { ...options, timeWindow: WINDOW_MS, cache: MOST_COUNTED };
    return app.createRateLimit(bounded);
  };
  if (perAddress !== null) {
    const count = counter({ max: perAddress });
    app.addHook("onRequest", async (request, reply) => {
      if (!WATCHED.has(request.routeOptions.url ?? "")) hold(reply, "address", await count(request));
    });
  }
  if (perToken !== null) {
    const count = counter({ max: perToken, keyGenerator: ({ context }) => context.access!.tokenId! });
    // The first hook after those in which the routes find out who is asking.
    app.addHook("preParsing", async (request, reply) => {
      if (request.context?.access) hold(reply, "token", await count(request));
    });
  }
}

type Counted = Awaited<ReturnType<ReturnType<App["createRateLimit"]>>>;

/** Tells the count whose limit is nearer, and refuses what is beyond it. */
function hold(reply: FastifyReply, whose: "token" | "address", counted: Counted): void {
  if (counted.isAllowed) return; // that is, not counted
  const { max, remaining, ttlInSeconds, isExceeded } = counted;
  const header = reply.getHeader("ratelimit-remaining");
  if (header === undefined || remaining <= Number(header))
    reply.headers({
      "ratelimit-limit": max,
      "ratelimit-remaining": remaining,
      "ratelimit-reset": ttlInSeconds,
    });
  if (!isExceeded) return;
  const message = `This ${whose} has sent more than ${max} requests in a minute. Try again in ${ttlInSeconds} s.`;
  throw new GabbroError("TOO_MANY_REQUESTS", message, { headers: { "retry-after": String(ttlInSeconds) } });
}
