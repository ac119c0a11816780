import type { CreateRateLimitOptions } from "@fastify/rate-limit";
import type { Config } from "../config.ts";
import { GabbroError } from "../errors.ts";
import type { App, FastifyReply } from "./app.ts";
import { PROBES } from "./limiter.ts";

const WINDOW_MS = 60_000;
/** Beyond this many tokens or addresses, those that were used least recently are counted from zero again. */
const MAX_COUNTERS = 10_000;

/**
 * Answers TOO_MANY_REQUESTS to a token or an address that exceeds its limit of requests per minute. Requests with an unknown
 * token count only for their address.
 */
export async function limitRates(app: App, { perToken, perAddress }: Config["rateLimits"]): Promise<void> {
  if (perToken === null && perAddress === null) return;
  const { default: rateLimit } = await import("@fastify/rate-limit");
  await app.register(rateLimit, { global: false });
  const counter = (options: CreateRateLimitOptions) => {
    const bounded = { ...options, timeWindow: WINDOW_MS, cache: MAX_COUNTERS };
    return app.createRateLimit(bounded);
  };
  if (perAddress !== null) {
    const count = counter({ max: perAddress });
    app.addHook("onRequest", async (request, reply) => {
      if (!PROBES.has(request.routeOptions.url ?? "")) enforce(reply, "address", await count(request));
    });
  }
  if (perToken !== null) {
    const count = counter({ max: perToken, keyGenerator: ({ context }) => context.access!.tokenId! });
    // The first hook after authentication.
    app.addHook("preParsing", async (request, reply) => {
      if (request.context?.access?.tokenId) enforce(reply, "token", await count(request));
    });
  }
}

type RateLimit = Awaited<ReturnType<ReturnType<App["createRateLimit"]>>>;

/** Sets the headers of the limit that is nearer, and refuses requests beyond it. */
function enforce(reply: FastifyReply, kind: "token" | "address", rateLimit: RateLimit): void {
  if (rateLimit.isAllowed) return; // on an allow list, so it has no count
  const { max, remaining, ttlInSeconds, isExceeded } = rateLimit;
  const header = reply.getHeader("ratelimit-remaining");
  if (header === undefined || remaining <= Number(header))
    reply.headers({
      "ratelimit-limit": max,
      "ratelimit-remaining": remaining,
      "ratelimit-reset": ttlInSeconds,
    });
  if (!isExceeded) return;
  const message = `This ${kind} has sent more than ${max} requests in a minute. Try again in ${ttlInSeconds} s.`;
  throw new GabbroError("TOO_MANY_REQUESTS", message, { headers: { "retry-after": String(ttlInSeconds) } });
}
