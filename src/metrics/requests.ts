import type { App } from "../http/app.ts";
import { codeOf, topFieldOf } from "../http/logging.ts";
import { type Family, histogram } from "./families.ts";

const BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Series {
  /** The number of requests by status, or by status and error code. */
  outcomes: Map<number | string, number>;
  counts: Float64Array;
  sum: number;
}

/**
 * Counts requests by operation, and returns a function for the counts. Operations are routes and fields of the schema,
 * never text of a caller, so their number is bounded.
 */
export function countRequests(app: App): () => Family[] {
  const rest = new Map<string, Series>();
  const graphql = new Map<string, Series>();
  app.addHook("onResponse", (request, reply, done) => {
    const { url } = request.routeOptions;
    const series =
      url === "/graphql"
        ? seriesOf(graphql, topFieldOf(request) ?? NONE)
        : seriesOf(rest, url ? `${request.method} ${url}` : NONE);
    const { statusCode, elapsedTime } = reply;
    const code = codeOf(request);
    const outcome = code ? `${statusCode} ${code}` : statusCode;
    series.outcomes.set(outcome, (series.outcomes.get(outcome) ?? 0) + 1);
    if (request.isRefused) return done(); // its time is the delay of refusals
    const seconds = elapsedTime / 1_000;
    let at = 0;
    while (seconds > BOUNDS_S[at]!) at += 1;
    series.counts[at]! += 1;
    series.sum += seconds;
    done();
  });
  return () => families(Object.entries({ rest, graphql }));
}

const NONE = "(none)";

function seriesOf(all: Map<string, Series>, operation: string): Series {
  let series = all.get(operation);
  if (!series) {
    series = { outcomes: new Map(), counts: new Float64Array(BOUNDS_S.length + 1), sum: 0 };
    all.set(operation, series);
  }
  return series;
}

function families(apis: [api: string, series: Map<string, Series>][]): Family[] {
  const all = apis.flatMap(([api, byOperation]) =>
    [...byOperation].map(([operation, series]) => ({ labels: { api, operation }, series })),
  );
  return [
    {
      name: "gabbro_requests_total",
      type: "counter",
      help: "Requests answered, by status and by the code of the error, if any.",
      samples: all.flatMap(({ labels, series }) =>
        [...series.outcomes].map(([outcome, value]) => {
          const [status, code = ""] = String(outcome).split(" ");
          return { labels: { ...labels, status: status!, code }, value };
        }),
      ),
    },
    {
      name: "gabbro_request_duration_seconds",
      type: "histogram",
      help: "From the arrival of a request to the end of its answer.",
      samples: all.flatMap(({ labels, series }) => histogram(BOUNDS_S, series, labels)),
    },
  ];
}
