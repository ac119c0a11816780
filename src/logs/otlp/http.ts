import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../../context.ts";
import { runWithPauses } from "../../database/pauses.ts";
import { GabbroError } from "../../errors.ts";
import type { App } from "../../http/app.ts";
import type { HeldBytes } from "../../http/bodies.ts";
import { clientOf } from "../../inbox/client.ts";
import { onceDone } from "../../limits/handlerWork.ts";
import { writeJson } from "../../limits/jsonText.ts";
import { authenticated } from "../../workspaces/resolvers.ts";
import { readBody, tooLarge } from "./body.ts";
import { MAX_BODY_BYTES } from "./bounds.ts";
import type { Encoded, Encoding } from "./decode.ts";
import { exportResponse, type Receipt, statusBody } from "./messages.ts";
import type { OtlpOptions } from "./options.ts";
import { previewSpans, receiveLogRecords, receiveSpans, rejectMetrics } from "./receive.ts";
import { recordPartial } from "./rejections.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** What the unpacked body takes of the memory for bodies. */
    heldBytes?: HeldBytes;
  }
}

/** The routes of OpenTelemetry. They need a token before the body is read, and answer in the encoding of the request. */
export function otlpRoutes(app: App, { contextOf, limiter, counts }: OtlpOptions): void {
  app.addHook("onRequest", async (request, reply) => {
    request.headers.authorization = toBearer(request.headers.authorization);
    request.context = await contextOf(request, reply);
    const { workspaceId } = authenticated(request.context);
    if (!encodingOf(request)) throw unsupportedType();
    request.heldBytes = limiter.holdBytes(workspaceId);
    onceDone(reply.raw, request.heldBytes.release);
  });
  parseBodies(app, limiter);

  const receipts = {
    traces: (context: Context, body: Encoded) => receiveSpans(context, body, counts),
    logs: receiveLogRecords,
    metrics: rejectMetrics,
  };
  const receive =
    (signal: keyof typeof receipts) =>
    async ({ context, body }: FastifyRequest, reply: FastifyReply) => {
      const sent = encoded(reply, body);
      return sendReceipt(reply, signal, await receipts[signal](context, sent));
    };
  const storeSpans = receive("traces");
  app.addConstraintStrategy(otlpType);
  app.post("/", { ...options, constraints: { otlpType: "yes" } }, storeSpans);
  app.post("/api/public/otel/v1/traces", options, storeSpans);
  app.post("/v1/traces", options, async (request, reply) => {
    if (!isDryRun(request.query)) return storeSpans(request, reply);
    const { context, body } = request;
    const preview = await previewSpans(context, encoded(reply, body));
    const { workspaceId } = authenticated(context);
    return reply
      .type("application/json; charset=utf-8")
      .send(await runWithPauses(context, workspaceId, writeJson(preview)));
  });
  app.post("/v1/logs", options, receive("logs"));
  app.post("/v1/metrics", options, receive("metrics"));
}

/** OpenTelemetry describes its own interface, so the OpenAPI document leaves it out. */
const options = {
  schema: { hide: true },
  bodyLimit: MAX_BODY_BYTES,
  config: {
    keepsBytes: true as const,
    errorBody: (error: GabbroError, request: Pick<FastifyRequest, "headers">) =>
      statusBody(error, encodingOf(request) ?? "json"),
  },
};

/** Clients that post to the address as given use `POST /`, which exists for the types of OpenTelemetry only. */
const otlpType = {
  name: "otlpType",
  storage: <Handler>() => {
    const handlers = new Map<unknown, Handler>();
    return {
      get: (key: unknown) => handlers.get(key) ?? null,
      set: (key: unknown, handler: Handler) => void handlers.set(key, handler),
    };
  },
  deriveConstraint: (request: Pick<FastifyRequest, "headers">) => (encodingOf(request) ? "yes" : "no"),
};

const types = new Map<string, Encoding>([
  ["application/x-protobuf", "protobuf"],
  ["application/protobuf", "protobuf"],
  ["application/json", "json"],
]);

function encodingOf({ headers }: Pick<FastifyRequest, "headers">): Encoding | undefined {
  const { "content-type": type } = headers;
  if (type === undefined) return undefined; // each request is asked this
  const [name = ""] = type.split(";", 1);
  return types.get(name.trim().toLowerCase());
}

const unsupportedType = () =>
  new GabbroError(
    "UNSUPPORTED_MEDIA_TYPE",
    "OpenTelemetry is received as Content-Type: application/x-protobuf or application/json.",
  );

function parseBodies(app: App, limiter: OtlpOptions["limiter"]): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", async (request: FastifyRequest, payload: FastifyRequest["raw"]) => {
    const { headers, context, heldBytes } = request;
    if (Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
    const options = { context, held: heldBytes!, overloaded: limiter.overloaded };
    return readBody(payload, headers["content-encoding"], options);
  });
}

/** A request without any body is an empty one, which is valid as protobuf. */
const encoded = ({ request }: FastifyReply, body: unknown): Encoded => ({
  bytes: Buffer.isBuffer(body) ? body : Buffer.alloc(0),
  encoding: encodingOf(request)!,
});

function sendReceipt(reply: FastifyReply, signal: "traces" | "logs" | "metrics", receipt: Receipt) {
  const { request } = reply;
  const origin = { endpoint: `POST ${request.routeOptions.url}`, client: clientOf(request.headers) };
  recordPartial(request.context, origin, receipt);
  const { type, body } = exportResponse(receipt, signal, encodingOf(request)!);
  return reply.type(type).send(body);
}

function isDryRun(query: unknown): boolean {
  const { dryRun } = query as { dryRun?: unknown };
  return [dryRun].flat().some((value) => value === "1" || value === "true");
}

const BASIC = "basic ";

/** The password of Basic authentication is taken as the token; its user name means nothing. */
function toBearer(authorization: string | undefined): string | undefined {
  if (authorization?.slice(0, BASIC.length).toLowerCase() !== BASIC) return authorization;
  const pair = Buffer.from(authorization.slice(BASIC.length), "base64").toString("latin1");
  return `Bearer ${pair.slice(pair.indexOf(":") + 1)}`;
}
