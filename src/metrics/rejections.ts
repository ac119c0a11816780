import type { App } from "../http/app.ts";
import { codeOf } from "../http/logging.ts";
import { endpointOf, isRejected } from "../inbox/rest.ts";
import type { Family } from "./families.ts";

/**
 * Counts what clients sent and Gabbro did not take, with and without a valid token, and returns a function for the counts.
 * Endpoints are routes, never paths of callers, so their number is bounded.
 */
export function countRejections(app: App): () => Family {
  const counts = new Map<string, number>();
  app.addHook("onResponse", (request, reply, done) => {
    const endpoint = isRejected(reply) ? endpointOf(request) : undefined;
    const key = `${endpoint}"${codeOf(request) ?? ""}`;
    if (endpoint !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
    done();
  });
  return () => ({
    name: "gabbro_rejected_total",
    type: "counter",
    help: "Requests that sent data and were answered with 4xx, by method and route and by the code of the error.",
    samples: [...counts].map(([key, value]) => {
      const [endpoint = "", code = ""] = key.split('"');
      return { labels: { endpoint, code }, value };
    }),
  });
}
