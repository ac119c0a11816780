import type { FastifyBaseLogger } from "fastify";
import { type ExecutionResult, GraphQLError, type GraphQLErrorExtensions } from "graphql";
import type { Plugin } from "graphql-yoga";
import type { Context } from "../context.ts";
import { unavailable } from "../database/driverErrors.ts";
import {
  badInput,
  type ErrorCode,
  type ErrorDetail,
  errorStatus,
  GabbroError,
  internalError,
} from "../errors.ts";
import { schema } from "../schema.ts";
import { argumentDetails } from "./argumentDetails.ts";
import { MAX_ERRORS, parseDocument } from "./documents.ts";
import { tooLongRepeated } from "./repeatedVariables.ts";

/** The parameters of an operation, and the log for internal errors. */
export interface ErrorContext extends Pick<Context, "topField" | "errorCode"> {
  params?:
    | { query?: string; operationName?: string; variables?: Record<string, unknown>; extensions?: unknown }
    | undefined;
  requestId: string;
  log: FastifyBaseLogger;
}

/** Presents the errors of results, and of subscriptions and their events. */
export const useErrors: Plugin<Context & ErrorContext, Context & ErrorContext> = {
  onSubscribe: ({ args: { contextValue } }) => ({
    onSubscribeError: ({ error, setError }) => setError(presentErrors(errorResult(error), contextValue)[0]),
    onSubscribeResult: () => ({
      onNext({ result, setResult }) {
        if (result.errors) setResult({ ...result, errors: presentErrors(result, contextValue) });
      },
    }),
  }),
  onResultProcess({ result, setResult, serverContext }) {
    if ("errors" in result && result.errors)
      setResult({ ...result, errors: presentErrors(result, serverContext) });
  },
};

/** The result for a thrown error. */
export function errorResult(error: unknown): ExecutionResult {
  const isOfGraphql = error instanceof GraphQLError;
  return { errors: [isOfGraphql ? error : new GraphQLError("", { originalError: error as Error })] };
}

/**
 * The first five errors of a result as the caller sees them, with codes and details, and without the causes of internal
 * errors. When there is no data at all, the errors determine the status of the answer.
 */
export function presentErrors({ data, errors = [] }: ExecutionResult, context: ErrorContext): GraphQLError[] {
  const details = data === undefined && errors.every(isOfArgument) ? argumentDetailsOf(context) : [];
  const presented =
    details.length > 0
      ? [toGraphqlError(badInput(details))]
      : errors.slice(0, MAX_ERRORS).map((error) => present(error, context));
  context.errorCode = presented[0]?.extensions.code as ErrorCode;
  return data == null
    ? presented
    : presented.map(
        ({ message, nodes, path, extensions: { http: _, ...extensions } }) =>
          new GraphQLError(message, { nodes, path, extensions }),
      );
}

function present(error: GraphQLError, { requestId, log }: ErrorContext): GraphQLError {
  const cause = causeOf(error);
  if (cause instanceof GabbroError) {
    if (cause.status >= 500) log.error(cause, cause.message);
    return toGraphqlError(cause, error);
  }
  if (cause instanceof GraphQLError) return presentGraphqlError(error);
  if (isTooDeep(cause)) {
    return toGraphqlError(new GabbroError("QUERY_TOO_COMPLEX", "The operation is nested too deep."), error);
  }
  log.error(cause, "an operation failed");
  return toGraphqlError(unavailable(cause) ?? internalError(requestId, cause), error);
}

const isTooDeep = (cause: unknown) => cause instanceof RangeError && cause.message.includes("call stack");

/** Whether the service failed, and not the caller: the same request may succeed later. */
export const isServiceError = (cause: unknown): boolean =>
  cause instanceof GabbroError ? cause.status >= 500 : !(cause instanceof GraphQLError || isTooDeep(cause));

/** GraphQL wraps what a resolver throws, once or more. */
export function causeOf(error: GraphQLError): unknown {
  let cause: unknown = error;
  while (cause instanceof GraphQLError && cause.originalError) cause = cause.originalError;
  return cause;
}

function toGraphqlError(error: GabbroError, at?: GraphQLError): GraphQLError {
  // GraphQL over HTTP answers application/json with 200 for errors of resolvers (`spec`). A missing token and internal
  // errors have their status for every client.
  const spec = error.status < 500 && error.status !== errorStatus.UNAUTHENTICATED;
  return new GraphQLError(error.message, {
    nodes: at?.nodes,
    path: at?.path,
    extensions: {
      code: error.code,
      ...(error.details && { details: error.details }),
      http: { status: error.status, spec, headers: error.headers },
    },
  });
}

/** An error of GraphQL itself: about the document, the variables or the request. */
function presentGraphqlError(error: GraphQLError): GraphQLError {
  const code = isOfArgument(error) ? "BAD_INPUT" : codeOf(error.extensions);
  // Errors of graphql-js about the request, such as an unknown operation, have no status of their own.
  const http = (code !== "BAD_INPUT" && error.extensions.http) || { status: errorStatus[code], spec: true };
  const { nodes, source, positions, path } = error;
  const extensions = { ...error.extensions, code, http };
  return new GraphQLError(withoutPayload(error), { nodes, source, positions, path, extensions });
}

function codeOf({ code, http }: GraphQLErrorExtensions): ErrorCode {
  const status = (http as { status?: number } | undefined)?.status;
  if (status === errorStatus.METHOD_NOT_ALLOWED) return "METHOD_NOT_ALLOWED";
  return typeof code === "string" && code in errorStatus ? (code as ErrorCode) : "BAD_REQUEST";
}

const ABOUT_AN_ARGUMENT =
  /^Variable "\$\w+" |^Too many errors processing variables|^Expected value of (?:non-null )?type |^\w+ cannot represent |^Argument "\S+" (?:of type|has invalid)/;

function isOfArgument({ message }: GraphQLError): boolean {
  return ABOUT_AN_ARGUMENT.test(message);
}

/** GraphQL's messages end with the invalid value, and those about variables contain the whole variable. */
function withoutPayload({ message, originalError }: GraphQLError): string {
  const subject = /^(?:Variable "\$\w+"|Argument "\S+")(?= (?:got|has) invalid value)/.exec(message)?.[0];
  if (!subject) return withoutValue(message);
  return `${subject} is invalid. ${originalError ? withoutValue(originalError.message) : ""}`.trim();
}

const MAX_MESSAGE_CHARACTERS = 200;

function withoutValue(message: string): string {
  const represented = before(message, ":", message.indexOf("cannot represent "));
  const [sentence] = represented.split(/[,.?] found: /i, 1);
  return cut(sentence === message ? message : `${sentence}.`);
}

/** The text before the first `sign` from `from` on; the whole text when there is none. */
function before(text: string, sign: string, from: number): string {
  const at = from < 0 ? -1 : text.indexOf(sign, from);
  return at < 0 ? text : text.slice(0, at);
}

function cut(message: string): string {
  if (message.length <= MAX_MESSAGE_CHARACTERS) return message;
  return `${message.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed()}…`;
}

function argumentDetailsOf({ params }: ErrorContext): ErrorDetail[] {
  if (!params?.query) return [];
  const document = parseDocument(params.query);
  const tooLong = tooLongRepeated(document, params.operationName, params.variables);
  return tooLong ? [tooLong] : argumentDetails(schema, document, params);
}
