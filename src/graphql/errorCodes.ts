import { type ErrorCode, errorStatus } from "../errors.ts";
import { builder } from "./builder.ts";

const meanings: Record<ErrorCode, string> = {
  BAD_JSON: "The body is not JSON.",
  BAD_INPUT: "The input is invalid; `extensions.details` has every error with its path.",
  BAD_REQUEST: "The request itself is invalid, such as one without a query.",
  GRAPHQL_PARSE_FAILED: "The document is not GraphQL.",
  GRAPHQL_VALIDATION_FAILED: "The document does not fit the schema.",
  QUERY_TOO_COMPLEX: "The answer could have too many fields, or is too large, or the document is too long.",
  UNAUTHENTICATED: "The token is missing, unknown, expired or revoked.",
  FORBIDDEN: "The token lacks the scope.",
  DATASET_NOT_FOUND: "The workspace has no such dataset.",
  ROW_NOT_FOUND: "The workspace has no such row.",
  PROMPT_NOT_FOUND: "The workspace has no such prompt.",
  VERSION_NOT_FOUND: "There is no such version.",
  TAG_NOT_FOUND: "There is no such tag.",
  TOKEN_NOT_FOUND: "The workspace has no such token that works.",
  SESSION_NOT_FOUND: "The workspace has no such session of the console that goes on.",
  TRACE_NOT_FOUND: "The workspace has no such trace.",
  LOG_NOT_FOUND: "The workspace has no such log.",
  PRICE_NOT_FOUND: "The workspace has no such price.",
  FILE_NOT_FOUND: "The workspace has no such file, or its content was not uploaded.",
  ROUTE_NOT_FOUND: "There is nothing at this path.",
  METHOD_NOT_ALLOWED: "The path takes another method.",
  CONFLICT:
    "A name is taken, a file has another content, or an `Idempotency-Key` is that of another request.",
  BODY_TOO_LARGE: "The body has more than 10 MB.",
  UNSUPPORTED_MEDIA_TYPE: "The body is not of the type `application/json`.",
  TOO_MANY_REQUESTS: "A rate limit is exceeded; `Retry-After` says when to try again.",
  HEADERS_TOO_LARGE: "The headers are too large, or too many.",
  INTERNAL: "A defect of the server; its log has the cause under the request id.",
  UNAVAILABLE: "The database or the service is busy or away; `Retry-After` says when to try again.",
  TIMED_OUT: "The work took longer than it may.",
};

/** The `code` in the extensions of every error. */
export const ErrorCodeType = builder.enumType("ErrorCode", {
  description: "What kind of error it is: the `code` in the `extensions` of an error.",
  values: Object.fromEntries(
    (Object.keys(errorStatus) as ErrorCode[]).map((code) => [code, { description: meanings[code] }]),
  ) as Record<ErrorCode, { description: string }>,
});
