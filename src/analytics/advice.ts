import type { Rejected } from "../inbox/resolvers.ts";

type Rejection = Pick<Rejected, "endpoint" | "code" | "reason" | "sample">;

/** What to do about what was rejected. A case applies when all that it names is there. */
interface Case {
  code?: string;
  /** A part of the endpoint. */
  endpoint?: string;
  /** A part of the reason. */
  reason?: string;
  /** A part of the sample. */
  sample?: string;
  advice: string;
}

/** How gzip begins, read as UTF-8. */
const GZIP = "\u001f\ufffd";
export const MAKE_TOKEN = "gabbro token create --name NAME --scopes read,write";

/** The first case that applies counts. */
const cases: Case[] = [
  {
    sample: GZIP,
    advice:
      "The body is gzip. OTLP takes it with the header Content-Encoding: gzip; turn compression off for all other routes.",
  },
  {
    reason: "compressed",
    advice: "Turn compression off in the client: only OTLP takes compressed bodies.",
  },
  {
    endpoint: "/v1/metrics",
    advice:
      "Gabbro takes traces, no metrics. Set OTEL_METRICS_EXPORTER=none in the client, or have it export traces alone.",
  },
  {
    endpoint: "/v1/logs",
    advice:
      "Log records were sent, and Gabbro takes traces. Export spans to /v1/traces; OTEL_LOGS_EXPORTER=none stops the log records.",
  },
  {
    endpoint: "/v1/traces",
    sample: "resourceLogs",
    advice: "Logs were sent to /v1/traces, which takes spans. Have the exporter of traces use this address.",
  },
  {
    endpoint: "/v1/traces",
    sample: "resourceMetrics",
    advice:
      "Metrics were sent to /v1/traces, which takes spans. Have the exporter of traces use this address.",
  },
  {
    sample: "resourceSpans",
    advice: "This is OTLP: post it to /v1/traces on the same port, or send it by gRPC to port 4317.",
  },
  {
    endpoint: "/v1/traces",
    code: "UNSUPPORTED_MEDIA_TYPE",
    advice:
      "Send OTLP as Content-Type: application/x-protobuf or application/json; for gRPC use port 4317 instead.",
  },
  {
    code: "UNSUPPORTED_MEDIA_TYPE",
    advice:
      "Send JSON with Content-Type: application/json. OTLP goes to /v1/traces, or by gRPC to port 4317.",
  },
  {
    code: "ROUTE_NOT_FOUND",
    advice:
      "Correct the path in the client: POST /monitor/log and /monitor/trace take calls, /datasets/SLUG/items rows, /v1/traces OTLP.",
  },
  {
    code: "METHOD_NOT_ALLOWED",
    advice: "Correct the method in the client: the reason names those that work.",
  },
  {
    code: "FORBIDDEN",
    reason: '"write"',
    advice: `The token has no scope write. Give the client another one: ${MAKE_TOKEN}`,
  },
  {
    code: "FORBIDDEN",
    advice: `The token lacks a scope. Give the client one that has it: ${MAKE_TOKEN}`,
  },
  {
    code: "DATASET_NOT_FOUND",
    advice:
      "Create the dataset, or correct its slug in the client. Tokens see only the datasets of their workspace.",
  },
  {
    code: "BODY_TOO_LARGE",
    advice: "Send less at once: smaller batches, or shorter inputs and outputs.",
  },
  {
    code: "TOO_MANY_REQUESTS",
    advice:
      "Send fewer requests, or raise RATE_LIMIT_PER_TOKEN or RATE_LIMIT_PER_ADDRESS and restart the service.",
  },
  {
    code: "CONFLICT",
    advice:
      "Give each request an Idempotency-Key of its own, and use it again only for a retry of the same request.",
  },
  {
    code: "BAD_JSON",
    advice: "The body is no JSON: look at its beginning in the sample, which rejectedItems lists.",
  },
  {
    code: "BAD_INPUT",
    advice: "Compare the sample, which rejectedItems lists, with what GET /openapi.json says of this route.",
  },
];

const OTHERWISE = "Look at its reason and its sample, which rejectedItems of the GraphQL API lists.";

/** What to do about something that was rejected. */
export function adviceFor(rejection: Rejection): string {
  const applies = ({ code, ...parts }: Case) =>
    (code === undefined || code === rejection.code) &&
    (["endpoint", "reason", "sample"] as const).every((part) =>
      (rejection[part] ?? "").includes(parts[part] ?? ""),
    );
  return cases.find(applies)?.advice ?? OTHERWISE;
}

/** What to look at when nothing has arrived, not even something to reject. */
export const nothingArrived = [
  "Check the address and the token in the client. The published JavaScript client needs insecure: true for an address of http,",
  "and OTLP goes to /v1/traces on this port or by gRPC to port 4317.",
].join(" ");

export const noWorkingToken = `Make one: ${MAKE_TOKEN}`;
export const expiredToken = `If a client still uses it, give it a new one: ${MAKE_TOKEN}`;
export const unpriced = "Their cost is missing: set a price by the mutation setModelPrice, then repriceLogs.";
