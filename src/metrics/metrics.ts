import { createHash, timingSafeEqual } from "node:crypto";
import type { Database } from "../database/open.ts";
import type { App } from "../http/app.ts";
import { bearerToken } from "../workspaces/authentication.resolvers.ts";
import { unauthenticated } from "../workspaces/resolvers.ts";
import { countDeprecations } from "./deprecations.ts";
import { CONTENT_TYPE, type Family, histogram, single, toText } from "./families.ts";
import type { OtlpSpanCounts } from "./otlpSpans.ts";
import { watchProcess } from "./process.ts";
import { countRejections } from "./rejections.ts";
import { countRequests } from "./requests.ts";

interface Watched {
  database: Database;
  limiter: Record<"inFlight" | "refused", () => number>;
  otlpSpans: OtlpSpanCounts;
}

/** Serves `GET /metrics` for Prometheus, to callers with `token`. */
export function exposeMetrics(app: App, { database, limiter, otlpSpans }: Watched, token: string): void {
  const requests = countRequests(app);
  const rejections = countRejections(app);
  const deprecations = countDeprecations(app);
  const processMetrics = watchProcess();
  app.addHook("onClose", async () => processMetrics.stop());
  app.get("/metrics", { schema: { hide: true } }, async ({ headers }, reply) => {
    reply.header("cache-control", "no-store");
    const callerToken = bearerToken(headers.authorization);
    if (callerToken === undefined || !isSame(callerToken, token))
      throw unauthenticated(
        "This needs the token of METRICS_TOKEN. Send the header Authorization: Bearer <token>.",
      );
    const refused = single(
      "gabbro_refused_requests_total",
      "counter",
      "Requests refused with 503 by load shedding, unread.",
      limiter.refused(),
    );
    const inFlight = single(
      "gabbro_requests_in_flight",
      "gauge",
      "Requests accepted and not answered yet.",
      limiter.inFlight(),
    );
    const families = [
      ...requests(),
      rejections(),
      deprecations(),
      otlpSpans.family(),
      inFlight,
      refused,
      ...familiesOf(database),
      ...(await processMetrics.families()),
    ];
    return reply.type(CONTENT_TYPE).send(toText(families));
  });
}

/** Takes the same time wherever the tokens differ. */
function isSame(callerToken: string, token: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text, "latin1").digest();
  return timingSafeEqual(hash(callerToken), hash(Buffer.from(token, "utf8").toString("latin1")));
}

const BATCH_BOUNDS = [1, 2, 5, 10, 20, 50, 100, 200];

function familiesOf({ commit, pubSub, generation: { reuse }, dialect }: Database): Family[] {
  return [
    single(
      "gabbro_writes_waiting",
      "gauge",
      "Rows of requests that wait for their commit.",
      commit.waiting(),
    ),
    {
      name: "gabbro_write_batch_size",
      type: "histogram",
      help: "How many requests shared a transaction.",
      samples: histogram(BATCH_BOUNDS, inBounds(commit.batchSizes)),
    },
    single("gabbro_cache_hits_total", "counter", "Reads of prompts and datasets from memory.", reuse.hits),
    single(
      "gabbro_cache_misses_total",
      "counter",
      "Reads of prompts and datasets from the database.",
      reuse.misses,
    ),
    single("gabbro_subscriptions", "gauge", "Open subscriptions.", pubSub.count()),
    ...ofConnections(dialect.connections()),
  ];
}

/** Empty for SQLite, which has no connections. */
function ofConnections(pools: ReturnType<Database["dialect"]["connections"]>): Family[] {
  if (pools.length === 0) return [];
  return [
    {
      name: "gabbro_database_connections",
      type: "gauge",
      help: "Connections to PostgreSQL that are open.",
      samples: pools.flatMap(({ server, inUse, idle }) => [
        { labels: { server, state: "in_use" }, value: inUse },
        { labels: { server, state: "idle" }, value: idle },
      ]),
    },
    {
      name: "gabbro_database_connections_awaited",
      type: "gauge",
      help: "Requests for a connection to PostgreSQL that are waiting.",
      samples: pools.map(({ server, waiting }) => ({ labels: { server }, value: waiting })),
    },
  ];
}

function inBounds(batchSizes: Float64Array): { counts: number[]; sum: number } {
  const counts = [...BATCH_BOUNDS, 0].map(() => 0);
  let sum = 0;
  for (const [size, batches] of batchSizes.entries()) {
    const at = BATCH_BOUNDS.findIndex((bound) => size <= bound);
    counts[at < 0 ? BATCH_BOUNDS.length : at]! += batches;
    sum += size * batches;
  }
  return { counts, sum };
}
