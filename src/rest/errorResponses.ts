import { z } from "zod";
import { type ErrorCode, errorStatus } from "../errors.ts";

/** The body of every error answer. */
export const errorBody = z
  .object({
    error: z.string().describe("What was wrong, where, and what to do, in one sentence."),
    code: z
      .enum(Object.keys(errorStatus) as [ErrorCode, ...ErrorCode[]])
      .describe("The same in one word, for programs."),
    details: z
      .array(
        z.object({
          path: z.string().describe("Where in the input, as dotted steps; empty for the whole."),
          message: z.string().describe("What is wrong there."),
        }),
      )
      .optional()
      .describe("Every error of the input."),
  })
  .meta({
    id: "Error",
    examples: [
      { error: 'Dataset "greetings" does not exist.', code: "DATASET_NOT_FOUND" },
      {
        error: "Invalid input: values is required.",
        code: "BAD_INPUT",
        details: [{ path: "values", message: "is required" }],
      },
    ],
  });

/** The error answers that any operation may give, for the OpenAPI document. */
export const errorResponses = {
  400: errorBody.describe("The request is malformed, or its input is wrong; nothing was stored."),
  401: errorBody.describe("There is no token, or it is unknown, expired or revoked."),
  403: errorBody.describe("The token lacks the scope for this."),
  429: errorBody.describe(
    "The token or the address has sent too many requests in this minute; try again after `Retry-After` seconds.",
  ),
  431: errorBody.describe(
    "The headers and the path have more than 16 kB together, or there are more than 100 headers.",
  ),
  500: errorBody.describe("An internal error; the answer names the request id under which its log has it."),
  503: errorBody.describe(
    "The database cannot be reached or written just now, or this took longer than 10 s; try again after `Retry-After` seconds.",
  ),
};

/** Those of operations that take a body. */
export const errorResponsesToBody = {
  ...errorResponses,
  409: errorBody.describe("Another request had the same `Idempotency-Key`."),
  413: errorBody.describe("The body is larger than 10 MB."),
  415: errorBody.describe("The body is not JSON."),
};
