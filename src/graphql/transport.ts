import type { FastifyReply, FastifyRequest } from "fastify";
import { type ExecutionResult, execute, getOperationAST } from "graphql";
import type { Context } from "../context.ts";
import { GabbroError } from "../errors.ts";
import { sendAnswer } from "../rest/idempotency.ts";
import { schema } from "../schema.ts";
import { type Answer, idempotencyKeyOf, runOnce } from "../workspaces/idempotency.resolvers.ts";
import { refuseTooLarge } from "./answerSize.ts";
import { refusalOfCost } from "./cost.ts";
import { type DocumentCache, EXECUTION_OPTIONS, readDocument } from "./documents.ts";
import { type Asked, presentErrors } from "./errors.ts";
import type { Parameters } from "./parameters.ts";
import { cachedResponse, type Made } from "./responseCache.ts";
import { topFieldOf } from "./topField.ts";
import { answerWithErrors } from "./yoga.ts";

/**
 * Runs a query or a mutation that came by POST and is answered in JSON, without the requests and responses of the Fetch
 * API that Yoga makes for each: they take most of its time. What is something else, or wrong before it executes, is not
 * ours: nothing has happened to it yet, and Yoga's own transport says what is to be said.
 */
export async function runDirectly(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  params: Parameters,
  { documents, asked }: Transport,
): Promise<"answered" | "not ours"> {
  const mediaType = jsonTypeFor(headers.accept);
  const key = idempotencyKeyOf(headers["idempotency-key"]);
  if (key !== undefined && !mediaType) throw new GabbroError("BAD_REQUEST", ONLY_JSON_IS_REPEATED);
  if (!mediaType || !hasPlainParameters(params)) return "not ours";
  const { query, variables: variableValues, operationName } = params;
  const document = readDocument(documents, query);
  if (!document) return "not ours";
  const operation = getOperationAST(document, operationName);
  if (!operation || operation.operation === "subscription") return "not ours";
  Object.assign(asked, { params, topField: topFieldOf(operation) });
  const run = async (contextValue: Context, throwFailure = () => {}): Promise<Made> => {
    const refusal = refusalOfCost(schema, document, operation, variableValues);
    const result = refusal
      ? { errors: [refusal] }
      : await execute({
          ...EXECUTION_OPTIONS,
          schema,
          document,
          contextValue,
          variableValues,
          operationName,
        });
    throwFailure();
    const bounded = refuseTooLarge(result as ExecutionResult, operation, contextValue.answerBudget);
    const answer = toAnswer(bounded, mediaType, asked);
    return { answer, isWhole: bounded.errors === undefined };
  };
  if (operation.operation === "query") {
    const all = () => JSON.stringify([query, variableValues, operationName, mediaType]);
    sendAnswer(reply, await cachedResponse(asked, { operation, key: all }, () => run(asked)));
  } else if (key === undefined) sendAnswer(reply, (await run(asked)).answer);
  else {
    const request = JSON.stringify(["graphql", query, variableValues ?? null, operationName ?? null]);
    const repeatable = { key, authorization: headers.authorization, request };
    const answer = async (context: Context, throwFailure: () => void) =>
      (await run(context, throwFailure)).answer;
    sendAnswer(reply, await runOnce(asked, repeatable, answer));
  }
  // The reply itself is no value to give back from here: a promise waits for it as for another promise, and forgets it.
  return "answered";
}

interface Transport {
  documents: DocumentCache;
  asked: Context & Asked;
}

const ONLY_JSON_IS_REPEATED =
  "A request with an Idempotency-Key is answered in JSON: send it with Accept: application/json.";

function toAnswer(result: ExecutionResult, mediaType: string, asked: Asked): Answer {
  const headers = { "Content-Type": `${mediaType}; charset=utf-8` };
  if (!result.errors) return { status: 200, headers, body: JSON.stringify(result) };
  return answerWithErrors({ ...result, errors: presentErrors(result, asked) }, mediaType);
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
