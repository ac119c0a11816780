import type { FastifyReply, FastifyRequest } from "fastify";
import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLSchema,
  getOperationAST,
} from "graphql";
import { processRegularResult } from "graphql-yoga";
import type { LRUCache } from "lru-cache";
import type { Context } from "../context.ts";
import { GabbroError } from "../errors.ts";
import { sendAnswer } from "../rest/repeats.ts";
import { answerOnce, idempotencyKeyOf } from "../workspaces/idempotency.resolvers.ts";
import { refuseUnknown, topFieldOf } from "./access.ts";
import { refusalOfCost } from "./cost.ts";
import { type Asked, presentErrors } from "./errors.ts";
import { keptAnswer, type Made } from "./keeping.ts";
import { schema } from "./schema.ts";

/** The steps before an operation is executed, with all plugins around them, as Yoga offers them to other transports. */
export interface Steps {
  parse(query: string): DocumentNode;
  validate(schema: GraphQLSchema, document: DocumentNode): readonly unknown[];
}

export interface Parameters {
  query: string;
  variables: unknown;
  operationName: unknown;
  extensions: unknown;
}

/**
 * Runs a query or a mutation that came by POST and is answered in JSON, without the requests and responses of the Fetch
 * API that Yoga makes for each: they take most of its time. What is something else, or wrong before it executes, is not
 * ours: nothing has happened to it yet, and Yoga's own transport says what is to be said.
 */
export async function runDirectly(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  params: Parameters,
  { steps, documents, asked }: Transport,
): Promise<"answered" | "not ours"> {
  const mediaType = jsonTypeFor(headers.accept);
  const key = idempotencyKeyOf(headers["idempotency-key"]);
  if (key !== undefined && !mediaType) throw new GabbroError("BAD_REQUEST", ONLY_JSON_IS_REPEATED);
  if (!mediaType || !hasPlainParameters(params)) return "not ours";
  const { query, variables: variableValues, operationName } = params;
  const document = documents.get(query) ?? validated(steps(asked), query);
  if (!document) return "not ours";
  documents.set(query, document);
  const operation = getOperationAST(document, operationName);
  if (!operation || operation.operation === "subscription") return "not ours";
  Object.assign(asked, { params, topField: topFieldOf(operation) });
  const run = async (contextValue: Context): Promise<Made> => {
    refuseUnknown(operation, contextValue);
    const refusal = refusalOfCost(schema, document, operation, variableValues);
    const result = refusal
      ? { errors: [refusal] }
      : await execute({ schema, document, contextValue, variableValues, operationName });
    const { body, init } = respond(result as ExecutionResult, mediaType, asked);
    const answer = { status: init.status!, headers: init.headers, body };
    return { answer, isWhole: result.errors === undefined };
  };
  if (operation.operation === "query") {
    const all = () => JSON.stringify([query, variableValues, operationName, mediaType]);
    sendAnswer(reply, await keptAnswer(asked, { operation, key: all }, () => run(asked)));
  } else if (key === undefined) sendAnswer(reply, (await run(asked)).answer);
  else {
    const request = JSON.stringify(["graphql", query, variableValues ?? null, operationName ?? null]);
    const repeatable = { key, authorization: headers.authorization, request };
    sendAnswer(reply, await answerOnce(asked, repeatable, async (context) => (await run(context)).answer));
  }
  // The reply itself is no value to give back from here: a promise waits for it as for another promise, and forgets it.
  return "answered";
}

interface Transport {
  steps: (asked: Asked) => Steps;
  /** Those that are valid, as they were parsed. */
  documents: LRUCache<string, DocumentNode>;
  asked: Context & Asked;
}

const ONLY_JSON_IS_REPEATED =
  "A request with an Idempotency-Key is answered in JSON: send it with Accept: application/json.";

function validated({ parse, validate }: Steps, query: string): DocumentNode | undefined {
  try {
    const document = parse(query);
    return validate(schema, document).length > 0 ? undefined : document;
  } catch (error) {
    // Yoga's transport answers this very error, as it is remembered; yet only requests of its own have it marked so.
    if (error instanceof GraphQLError)
      Object.assign(error.extensions, { code: "GRAPHQL_PARSE_FAILED", http: { spec: true, status: 400 } });
    return undefined;
  }
}

/** Yoga's own way from a result to an answer, with a response that is nothing but what it was made of. */
function respond(result: ExecutionResult, mediaType: string, asked: Asked): PlainResponse {
  const told = result.errors ? { ...result, errors: presentErrors(result, asked) } : result;
  return processRegularResult(told, { Response: PlainResponse } as never, mediaType) as never;
}

class PlainResponse {
  readonly body: string;
  readonly init: { status?: number; headers: Record<string, string> };
  constructor(body: string, init: PlainResponse["init"]) {
    this.body = body;
    this.init = init;
  }
}

/** The first type of JSON that the caller accepts, as Yoga chooses it; none when something else is accepted beside. */
function jsonTypeFor(accept = "*/*"): string | undefined {
  if (accept === "*/*" || accept === "application/json") return "application/json";
  const types = accept
    .toLowerCase()
    .split(",")
    .map((type) => type.trim());
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
  variables: Record<string, unknown> | null | undefined;
  operationName: string | null | undefined;
}

function isObjectOrNothing(value: unknown): boolean {
  return value == null || (typeof value === "object" && !Array.isArray(value));
}
