import type { FastifyReply, FastifyRequest } from "fastify";
import { type DocumentNode, execute, GraphQLError, getOperationAST, subscribe } from "graphql";
import { createYoga, type Plugin } from "graphql-yoga";
import type { Context } from "../context.ts";
import { liftDeadline } from "../deadline.ts";
import { badInput, GabbroError } from "../errors.ts";
import { parseJson } from "../rest/body.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import { refuseUnknown, topFieldOf } from "./access.ts";
import { refusalOfCost } from "./cost.ts";
import { documentCache } from "./documents.ts";
import { type Asked, presentErrors } from "./errors.ts";
import { MAX_TOKENS, withinLimits } from "./limits.ts";
import { schema } from "./schema.ts";
import { type Parameters, runDirectly, type Steps } from "./transport.ts";

type ServerContext = Context & Asked;

/** Makes the handler of `/graphql`: GraphQL over HTTP by GET and POST, with the resolvers' context of the request. */
export function createGraphqlHandler() {
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
    parserAndValidationCache: { documentCache: documentCache(), errorCache: documentCache() },
    plugins: [executor, limits, admission, errors],
  });
  const steps = (asked: Asked) => yoga.getEnveloped(asked) as unknown as Steps;
  const documents = documentCache<DocumentNode>();
  return async (request: FastifyRequest, reply: FastifyReply, context: Context): Promise<FastifyReply> => {
    // Not a copy: that would make the unit of work, which most requests do without.
    const asked = Object.assign(context, { requestId: request.id, log: request.log });
    if (request.method === "POST") {
      const outcome = await runDirectly(request, reply, toParameters(request.body), {
        steps,
        documents,
        asked,
      });
      if (outcome === "answered") return reply;
    }
    const response = await yoga.handleNodeRequestAndResponse(toNode(request), reply, asked);
    if (response.status === NOT_ACCEPTABLE) throw new GabbroError("BAD_REQUEST", NEEDS_EVENT_STREAM);
    reply.status(response.status);
    response.headers.forEach((value, name) => void reply.header(name, value));
    const streams = response.headers.get("content-type")?.match(/event-stream/);
    return reply.send(streams ? response.body : await response.text());
  };
}

const NOT_ACCEPTABLE = 406;
const NEEDS_EVENT_STREAM =
  "A subscription is answered by server-sent events: send it with Accept: text/event-stream.";

/** As transport.ts executes. Yoga's own executor takes every object with a member `then` for a promise, also in stored JSON. */
const executor: Plugin = {
  onExecute: ({ setExecuteFn }) => setExecuteFn(execute),
  onSubscribe: ({ setSubscribeFn }) => setSubscribeFn(subscribe),
};

const limits: Plugin = {
  onParse({ parseFn, setParseFn }) {
    setParseFn((source, options) => parseFn(source, { ...options, maxTokens: MAX_TOKENS }));
  },
  onValidate({ addValidationRule }) {
    addValidationRule(withinLimits);
  },
};

const admission: Plugin<ServerContext> = {
  onExecute({ args, setResultAndStopExecution }) {
    const { contextValue, variableValues } = args;
    const document = args.document as DocumentNode;
    const operation = getOperationAST(document, args.operationName);
    if (!operation) return;
    contextValue.topField = topFieldOf(operation);
    refuseUnknown(operation, contextValue);
    const refusal = refusalOfCost(schema, document, operation, variableValues);
    if (refusal) setResultAndStopExecution({ errors: [refusal] });
  },
  onSubscribe({ args: { document, operationName, contextValue } }) {
    contextValue.topField = topFieldOf(getOperationAST(document as DocumentNode, operationName)!);
    authenticated(contextValue);
    liftDeadline(contextValue); // it ends with its listener
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
        if (result.errors) setResult({ ...result, errors: presentErrors(result, asked) });
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
  } else refuseBadParameters(request.query as Record<string, unknown>);
  return request;
}

function toParameters(body: unknown): Parameters {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw badInput([{ path: "", message: "must be an object" }]);
  }
  const { query, variables, operationName, extensions } = body as Record<string, unknown>;
  if (typeof query === "string") return { query, variables, operationName, extensions };
  throw new GabbroError("BAD_REQUEST", "The body must have the operation as a string in its member `query`.");
}

function refuseBadParameters(query: Record<string, unknown>): void {
  for (const name of ["variables", "extensions"]) {
    const value = query[name];
    if (value === undefined || value === "") continue;
    try {
      parseJson(String(value));
    } catch (error) {
      if (error instanceof GabbroError && error.code !== "BAD_JSON") throw error;
      throw new GabbroError("BAD_REQUEST", `The parameter "${name}" must be a JSON object.`);
    }
  }
}
