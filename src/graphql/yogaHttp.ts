import type { FastifyReply, FastifyRequest } from "fastify";
import { GabbroError } from "../errors.ts";
import { entriesOf } from "../http/headerLists.ts";
import { newAnswerBudget } from "../limits/answerBudget.ts";
import { toParameters, toQueryParameters } from "./parameters.ts";
import type { GraphqlServer, ServerContext } from "./yoga.ts";

/** The body of an answer by Yoga's own transport: GraphQL over HTTP by GET and POST, and server-sent events. */
export async function answerByYoga(
  yoga: GraphqlServer,
  request: FastifyRequest,
  reply: FastifyReply,
  serverContext: ServerContext,
): Promise<unknown> {
  const node = toNode(request);
  if (node.raw.headers.accept === EVENT_STREAM) {
    const budget = { ...serverContext.answerBudget, maxBytes: MAX_EVENT_STREAM_BYTES };
    serverContext.answerBudget = newAnswerBudget(budget);
  }
  const response = await yoga.handleNodeRequestAndResponse(node, reply, serverContext);
  if (response.status === NOT_ACCEPTABLE) throw new GabbroError("BAD_REQUEST", NEEDS_EVENT_STREAM);
  reply.status(response.status);
  response.headers.delete("cache-control"); // the one of event streams is weaker than that of every answer
  response.headers.forEach((value, name) => void reply.header(name, value));
  if (serverContext.isSubscription && isEventStream(response)) return response.body;
  // Also events: those of a query or a mutation are complete, and as a text they count while they wait for their client.
  return response.text();
}

const isEventStream = ({ headers }: Response) => headers.get("content-type")?.startsWith("text/event-stream");

/** Yoga writes, encodes and joins the events of a query or a mutation in one turn: 30 MB took 0.3 s. */
const MAX_EVENT_STREAM_BYTES = 4 * 1024 * 1024;

const NOT_ACCEPTABLE = 406;
const NEEDS_EVENT_STREAM =
  "A subscription is answered by server-sent events: send it with Accept: text/event-stream.";

const EVENT_STREAM = "text/event-stream";
const JSON_TYPES = ["*/*", "application/*", "application/json", "application/graphql-response+json"];

/** The first type that a caller accepts and gets. Who accepts none of them gets JSON all the same, as in REST. */
function answeredType(accept: string): string {
  if (OTHER_CHARSET.test(accept)) return "application/json";
  const types = entriesOf(accept.toLowerCase()).map((each) => each.split(";", 1)[0]!.trimEnd());
  return types.find((type) => type === EVENT_STREAM || JSON_TYPES.includes(type)) ?? "application/json";
}

const OTHER_CHARSET = /charset\s*=\s*(?!"?utf-8)/i;

/**
 * The request as Yoga reads it, with the body that Fastify has parsed. Yoga would wait forever for the stream of a body
 * that is parsed but empty, and refuses unknown members of a body.
 */
function toNode(request: FastifyRequest): FastifyRequest {
  const { headers } = request.raw;
  headers.host = "localhost"; // completes the URL; an invalid one would be an error there
  headers.accept = answeredType(headers.accept ?? "*/*"); // alone, as the budget of the answer follows from it
  if (request.method === "POST") {
    headers["content-type"] = "application/json"; // it may have been any kind of JSON
    request.body = toParameters(request.body);
  } else request.query = toQueryParameters(request.query as Record<string, unknown>);
  return request;
}
