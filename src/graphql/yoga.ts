import type { FastifyReply, FastifyRequest } from "fastify";
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  getOperationAST,
  OperationTypeNode,
  subscribe,
} from "graphql";
import { createYoga, type Plugin, processRegularResult } from "graphql-yoga";
import type { Context } from "../context.ts";
import { GabbroError } from "../errors.ts";
import { disableDeadline } from "../limits/deadline.ts";
import { schema } from "../schema.ts";
import type { Answer } from "../workspaces/idempotency.resolvers.ts";
import { refuseTooLarge } from "./answerSize.ts";
import { refusalOfCost } from "./cost.ts";
import { EXECUTION_OPTIONS, parseDocument, validateDocument } from "./documents.ts";
import { type Asked, presentErrors } from "./errors.ts";
import { toParameters, toQueryParameters } from "./parameters.ts";
import { topFieldOf } from "./topField.ts";

type ServerContext = Context & Asked;

/** Answers with Yoga's own transport: GraphQL over HTTP by GET and POST, and server-sent events. */
export function createYogaTransport() {
  const yoga = createYoga<ServerContext>({
    schema,
    // Fastify does these: it has read and limited the body, serves the playground, and answers other origins or not.
    maxRequestBodySize: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    logging: false,
    maskedErrors: false, // errors.ts does, as it must know the request
    // Documents that are asked for again and again come by transport.ts, which has a cache of its own.
    parserAndValidationCache: false,
    plugins: [executor, limits, admission, errors],
  });
  return async (
    request: FastifyRequest,
    reply: FastifyReply,
    asked: ServerContext,
  ): Promise<FastifyReply> => {
    const response = await yoga.handleNodeRequestAndResponse(toNode(request), reply, asked);
    if (response.status === NOT_ACCEPTABLE) throw new GabbroError("BAD_REQUEST", NEEDS_EVENT_STREAM);
    reply.status(response.status);
    response.headers.delete("cache-control"); // what it says of event streams is less than what every answer has
    response.headers.forEach((value, name) => void reply.header(name, value));
    const streams = response.headers.get("content-type")?.match(/event-stream/);
    return reply.send(streams ? response.body : await response.text());
  };
}

/** Yoga's own way from a result with errors to an answer, with a response that is nothing but what it was made of. */
export function answerWithErrors(result: ExecutionResult, mediaType: string): Answer {
  return processRegularResult(result, { Response: PlainResponse } as never, mediaType) as never;
}

class PlainResponse implements Answer {
  readonly body: string;
  readonly status: number;
  readonly headers: Record<string, string>;
  constructor(body: string, init: { status: number; headers: Record<string, string> }) {
    this.body = body;
    this.status = init.status;
    this.headers = init.headers;
  }
}

const NOT_ACCEPTABLE = 406;
const NEEDS_EVENT_STREAM =
  "A subscription is answered by server-sent events: send it with Accept: text/event-stream.";

/** As transport.ts executes. Yoga's own executor takes every object with a member `then` for a promise, also in stored JSON. */
const executor: Plugin = {
  onExecute: ({ setExecuteFn }) => setExecuteFn((args) => execute({ ...args, ...EXECUTION_OPTIONS })),
  onSubscribe: ({ setSubscribeFn }) => setSubscribeFn((args) => subscribe({ ...args, ...EXECUTION_OPTIONS })),
};

const limits: Plugin = {
  onParse: ({ setParseFn }) => setParseFn(parseDocument),
  onValidate: ({ setValidationFn }) => setValidationFn((_schema, document) => validateDocument(document)),
};

const admission: Plugin<ServerContext> = {
  onExecute({ args, setResultAndStopExecution }) {
    const { contextValue, variableValues } = args;
    const document = args.document as DocumentNode;
    const operation = getOperationAST(document, args.operationName);
    if (!operation) return;
    contextValue.topField = topFieldOf(operation);
    const refusal = refusalOfCost(schema, document, operation, variableValues);
    if (refusal) setResultAndStopExecution({ errors: [refusal] });
    return {
      onExecuteDone: ({ result, setResult }) =>
        setResult(refuseTooLarge(result as ExecutionResult, operation, contextValue.answerBudget)),
    };
  },
  onSubscribe({ args, setResultAndStopExecution }) {
    const { operationName, contextValue, variableValues } = args;
    const document = args.document as DocumentNode;
    const operation = getOperationAST(document, operationName)!;
    contextValue.topField = topFieldOf(operation);
    const refusal = refusalOfCost(schema, document, operation, variableValues); // of each event
    if (refusal) return setResultAndStopExecution({ errors: [refusal] });
    disableDeadline(contextValue); // it ends with its listener
  },
};

const errors: Plugin<object, ServerContext> = {
  onSubscribe: ({ args: { contextValue } }) => ({
    onSubscribeError({ error, setError }) {
      const asked = contextValue as unknown as ServerContext;
      const failure =
        error instanceof GraphQLError ? error : new GraphQLError("", { originalError: error as Error });
      setError(presentErrors({ errors: [failure] }, asked)[0]);
    },
    onSubscribeResult: () => ({
      onNext({ args, result, setResult }) {
        const asked = args.contextValue as unknown as ServerContext;
        const event = refuseTooLarge(
          result,
          { operation: OperationTypeNode.SUBSCRIPTION },
          asked.answerBudget,
        );
        setResult(event.errors ? { ...event, errors: presentErrors(event, asked) } : event);
      },
    }),
  }),
  onResultProcess({ result, setResult, serverContext }) {
    if ("errors" in result && result.errors)
      setResult({ ...result, errors: presentErrors(result, serverContext) });
  },
};

/** What Yoga can answer in; whoever accepts none of it gets JSON all the same, as REST gives it. */
const ANSWERABLE = /\*\/\*|application\/(?:\*|json|graphql-response\+json)|text\/event-stream/i;

const OTHER_CHARSET = /charset\s*=\s*(?!"?utf-8)/i;

/**
 * The request as Yoga reads it: with the body that Fastify has parsed. Yoga would wait for ever for the stream of a
 * body that is parsed but empty, and refuses members of the body that it does not know.
 */
function toNode(request: FastifyRequest): FastifyRequest {
  const { headers } = request.raw;
  headers.host = "localhost"; // it only completes the URL, and a nonsensical one would be a fault there
  const { accept = "*/*" } = headers;
  if (!ANSWERABLE.test(accept) || OTHER_CHARSET.test(accept)) headers.accept = "application/json";
  if (request.method === "POST") {
    headers["content-type"] = "application/json"; // it may have been any kind of JSON
    request.body = toParameters(request.body);
  } else request.query = toQueryParameters(request.query as Record<string, unknown>);
  return request;
}
