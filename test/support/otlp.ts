import { decode, encode } from "./otlpProto.ts";
import type { Server } from "./server.ts";

export const PROTOBUF = "application/x-protobuf";
export const JSON_TYPE = "application/json";
/** Both encodings, for tables of cases. */
export const TYPES = [PROTOBUF, JSON_TYPE];

interface Sent {
  type?: string;
  path?: string;
  /** Without it the token of the server; null for none. */
  authorization?: string | null;
  headers?: Record<string, string>;
}

/** Sends bytes over a connection, and reads what comes back by its own Content-Type. */
export async function send(server: Server, body: Uint8Array, sent: Sent = {}) {
  const { type = PROTOBUF, path = "/v1/traces", headers = {} } = sent;
  const authorization = sent.authorization === undefined ? `Bearer ${server.token}` : sent.authorization;
  const response = await fetch(`${server.url}${path}`, {
    method: "POST",
    headers: { "content-type": type, ...(authorization && { authorization }), ...headers },
    body: body as BodyInit,
  });
  const bytes = Buffer.from(await response.arrayBuffer());
  const isJson = response.headers.get("content-type")?.includes("json");
  const message = response.status === 200 ? "ExportResponse" : "RpcStatus";
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    // biome-ignore lint/suspicious/noExplicitAny: tests read answers of every shape
    answer: (isJson ? JSON.parse(bytes.toString()) : decode(message, bytes)) as any,
  };
}

let lastId = 0;

/** A valid span whose ids are its own, as protobufjs encodes it and as JSON has it. */
export function newSpan(more: object = {}) {
  lastId += 1;
  return {
    traceId: Buffer.from(`5b8efff798038103d269b633${lastId.toString(16).padStart(8, "0")}`, "hex"),
    spanId: Buffer.from(lastId.toString(16).padStart(16, "0"), "hex"),
    name: "chat",
    kind: 3,
    startTimeUnixNano: "1763800000000000000",
    endTimeUnixNano: "1763800001000000000",
    attributes: [{ key: "gen_ai.request.model", value: { stringValue: "gpt-5" } }],
    ...more,
  };
}

/** JSON has ids as hexadecimal text. */
const hexIds = (value: object): object =>
  Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, Buffer.isBuffer(each) ? each.toString("hex") : each]),
  );

/** A request in either encoding, with the spans in one scope. */
export function encodeSpans(spans: object[], type = PROTOBUF): Buffer {
  const request = (list: object[]) => ({
    resourceSpans: [{ resource: { attributes: [] }, scopeSpans: [{ scope: { name: "test" }, spans: list }] }],
  });
  return type === PROTOBUF
    ? encode("TraceRequest", request(spans))
    : Buffer.from(JSON.stringify(request(spans.map(hexIds))));
}
