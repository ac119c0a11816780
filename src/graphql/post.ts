import type { FastifyRequest } from "fastify";
import { type DocumentNode, type ExecutionResult, type GraphQLError, getOperationAST } from "graphql";
import { processRegularResult } from "graphql-yoga";
import type { Context } from "../context.ts";
import { GabbroError } from "../errors.ts";
import { entriesOf } from "../http/headerLists.ts";
import { graphqlSessionSecretOf } from "../http/sessionCookie.ts";
import { keyOfText } from "../limits/longTexts.ts";
import { bearerToken } from "../workspaces/authentication.resolvers.ts";
import { type Answer, idempotencyKeyOf, runOnce } from "../workspaces/idempotency.resolvers.ts";
import { isLarge } from "./answerSize.ts";
import { deprecatedIn } from "./deprecations.ts";
import type { DocumentCache } from "./documents.ts";
import { causeOf, errorResult, isServiceError, presentErrors } from "./errors.ts";
import type { Parameters } from "./parameters.ts";
import { cachedResponse } from "./responseCache.ts";
import { topFieldOf } from "./topField.ts";
import { type WrittenResult, writtenInTurns } from "./writtenResult.ts";
import type { GraphqlServer, ServerContext } from "./yoga.ts";

/**
 * Answers a query or a mutation by POST that accepts JSON: with Yoga's plugins, but without its requests and responses of
 * the Fetch API, which take up to half of the time. Undefined for other requests.
 */
export async function answerPost(
  { yoga, documents }: { yoga: GraphqlServer; documents: DocumentCache },
  httpRequest: FastifyRequest,
  params: Parameters,
  serverContext: ServerContext,
): Promise<(Answer & { isRepeated?: boolean }) | undefined> {
  const { headers } = httpRequest;
  const mediaType = jsonTypeFor(headers.accept);
  const key = idempotencyKeyOf(headers["idempotency-key"]);
  if (key !== undefined && !mediaType) throw new GabbroError("BAD_REQUEST", ONLY_JSON_IS_REPEATED);
  if (!mediaType || !hasPlainParameters(params)) return undefined;
  const { query, variables, operationName } = params;
  serverContext.params = params;
  const present = (result: ExecutionResult) => toAnswer(yoga, result, mediaType, serverContext);

  // Skips Yoga for a document that was validated before: a cached answer then takes 26 instead of 40 microseconds.
  let document = documents.get(keyOfText(query));
  if (!document) {
    const parsed = readDocument(yoga, serverContext, query);
    if ("errors" in parsed) return present(parsed);
    document = parsed.document;
  }
  serverContext.deprecated = deprecatedIn(document);
  const operation = getOperationAST(document, operationName);
  if (operation?.operation === "subscription") return undefined;
  if (operation) serverContext.topField = topFieldOf(operation);
  const run = async (contextValue: Context): Promise<ExecutionResult> => {
    const { schema, execute } = yoga.getEnveloped(serverContext);
    return execute({ schema, document, contextValue, variableValues: variables, operationName });
  };

  if (operation?.operation === "query") {
    const { reportsCost } = serverContext;
    const key = httpRequest.hasLargeBody
      ? null
      : () => JSON.stringify([query, variables, operationName, mediaType, reportsCost]);
    return cachedResponse(serverContext, { operation, key }, async () => {
      const result = await run(serverContext);
      return { answer: await present(result), hasErrors: result.errors !== undefined };
    });
  }
  if (key === undefined) return present(await run(serverContext));
  const request = ["graphql", query, variables ?? null, operationName ?? null];
  return runOnce(
    serverContext,
    { ...callerOf(httpRequest, key), request },
    async (context, { throwFailure }) => {
      const result = await run(context);
      const causes = result.errors?.map(causeOf) ?? [];
      throwFailure(causes);
      const error = causes.find(isServiceError);
      if (error) throw error; // or it would be the answer to each retry
      return present(result);
    },
  );
}

/** A session has keys of its own, as another session of the same token could not decrypt its answers. */
function callerOf(request: FastifyRequest, key: string): { key: string; secret: string } {
  const session = graphqlSessionSecretOf(request);
  if (session === undefined) return { key, secret: bearerToken(request.headers.authorization)! };
  return { key: `${key} of the session ${session}`, secret: session };
}

function readDocument(
  yoga: GraphqlServer,
  serverContext: ServerContext,
  query: string,
): { document: DocumentNode } | { errors: readonly GraphQLError[] } {
  const { schema, parse, validate } = yoga.getEnveloped(serverContext);
  try {
    const document: DocumentNode = parse(query);
    const errors: GraphQLError[] = validate(schema, document);
    return errors.length > 0 ? { errors } : { document };
  } catch (error) {
    return { errors: errorResult(error).errors! };
  }
}

const ONLY_JSON_IS_REPEATED =
  "A request with an Idempotency-Key is answered in JSON: send it with Accept: application/json.";

async function toAnswer(
  yoga: GraphqlServer,
  result: ExecutionResult,
  mediaType: string,
  serverContext: ServerContext,
): Promise<Answer> {
  if (!isLarge(result)) return writeAnswer(yoga, result, mediaType, serverContext);
  const written = await writtenInTurns(result, serverContext);
  return writeAnswer(yoga, written, mediaType, serverContext);
}

async function writeAnswer(
  { fetchAPI }: GraphqlServer,
  result: WrittenResult,
  mediaType: string,
  serverContext: ServerContext,
): Promise<Answer> {
  if (!result.errors) {
    const headers = { "content-type": `${mediaType}; charset=utf-8` };
    const { stringify = JSON.stringify } = result;
    return { status: 200, headers, body: stringify(result) };
  }
  const safeResult = { ...result, errors: presentErrors(result, serverContext) };
  const response = processRegularResult(safeResult, fetchAPI, mediaType);
  const headers = Object.fromEntries(response.headers);
  return { status: response.status, headers, body: await response.text() };
}

/** The type of JSON that Yoga would choose; undefined when the caller also accepts anything else. */
function jsonTypeFor(accept = "*/*"): string | undefined {
  if (accept === "*/*" || accept === "application/json") return "application/json";
  const types = entriesOf(accept.toLowerCase());
  const isJson = types.every((type) => JSON_TYPES.has(type));
  if (!isJson) return undefined;
  return types[0] === GRAPHQL_JSON ? GRAPHQL_JSON : "application/json";
}

const GRAPHQL_JSON = "application/graphql-response+json";
const JSON_TYPES = new Set([GRAPHQL_JSON, "application/json", "application/*", "*/*"]);

function hasPlainParameters(params: Parameters): params is PlainParameters {
  const { variables, operationName, extensions } = params;
  return (
    isObjectOrNothing(variables) &&
    isObjectOrNothing(extensions) &&
    (operationName == null || typeof operationName === "string")
  );
}

interface PlainParameters extends Parameters {
  variables: Record<string, unknown> | undefined;
  operationName: string | undefined;
}

function isObjectOrNothing(value: unknown): boolean {
  return value == null || (typeof value === "object" && !Array.isArray(value));
}
