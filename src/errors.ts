/** Every error code with its HTTP status, for both APIs. */
export const errorStatus = {
  BAD_JSON: 400,
  BAD_INPUT: 400,
  BAD_REQUEST: 400,
  GRAPHQL_PARSE_FAILED: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  QUERY_TOO_COMPLEX: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  DATASET_NOT_FOUND: 404,
  ROW_NOT_FOUND: 404,
  PROMPT_NOT_FOUND: 404,
  VERSION_NOT_FOUND: 404,
  TAG_NOT_FOUND: 404,
  TOKEN_NOT_FOUND: 404,
  SESSION_NOT_FOUND: 404,
  TRACE_NOT_FOUND: 404,
  LOG_NOT_FOUND: 404,
  PRICE_NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  ROUTE_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  CONFLICT: 409,
  BODY_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  TOO_MANY_REQUESTS: 429,
  HEADERS_TOO_LARGE: 431,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  TIMED_OUT: 503,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** One error of an input: `path` leads to it, dotted (`variables.0.label`), empty for the whole. */
export interface ErrorDetail {
  path: string;
  message: string;
}

/** The error that callers see: its message is a sentence that a person can act on, and never repeats the input. */
export class GabbroError extends Error {
  readonly code: ErrorCode;
  readonly details: ErrorDetail[] | undefined;
  readonly headers: Record<string, string>;

  constructor(
    code: ErrorCode,
    message: string,
    more: { details?: ErrorDetail[]; headers?: Record<string, string>; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = "GabbroError";
    this.code = code;
    this.details = more.details;
    this.headers = more.headers ?? {};
  }

  get status(): number {
    return errorStatus[this.code];
  }
}

const MAX_ERRORS_IN_SENTENCE = 3;

/** A BAD_INPUT error whose sentence names the first errors and whose details hold all of them. */
export function badInput(details: ErrorDetail[]): GabbroError {
  const sentences = details
    .slice(0, MAX_ERRORS_IN_SENTENCE)
    .map((detail) => `${detail.path || "the input"} ${detail.message}`);
  const more = details.length > sentences.length ? `; and ${details.length - sentences.length} more` : "";
  return new GabbroError("BAD_INPUT", `Invalid input: ${sentences.join("; ")}${more}.`, { details });
}

/** The caller's view of an internal error: only the request id, under which the log has the cause. */
export function internalError(requestId: string, cause: unknown): GabbroError {
  return new GabbroError(
    "INTERNAL",
    `Internal error. The server's log has it under request id ${requestId}.`,
    {
      cause,
    },
  );
}

const MAX_QUOTE_CHARACTERS = 128;

/** A name in quotation marks for a sentence, cut when it is very long. */
export function quoted(name: string): string {
  return JSON.stringify(
    name.length > MAX_QUOTE_CHARACTERS ? `${name.slice(0, MAX_QUOTE_CHARACTERS).toWellFormed()}…` : name,
  );
}
