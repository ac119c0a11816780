import type { Context } from "./context.ts";
import { GabbroError } from "./errors.ts";

/** What is read for one answer may have as many bytes in the database: more would fill the memory for one caller. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** An answer of GraphQL may have as many fields. */
export const MAX_ANSWER_FIELDS = 200_000;

/** What may still be read for the answer to one request; shared by all its resolvers. */
export interface AnswerBudget {
  leftBytes: number;
  leftFields: number;
}

/** The budget of a request that answers a caller. */
export function newAnswerBudget(): AnswerBudget {
  return { leftBytes: MAX_ANSWER_BYTES, leftFields: MAX_ANSWER_FIELDS };
}

/**
 * Takes bytes off the budget of the answer; call it with the length that the database reports, before reading the text.
 * Throws QUERY_TOO_COMPLEX when the answer would be too large.
 */
export function spendAnswerBytes({ answerBudget }: Pick<Context, "answerBudget">, bytes: number): void {
  answerBudget.leftBytes -= bytes;
  if (answerBudget.leftBytes >= 0) return;
  throw answerTooLarge();
}

/** The error for an answer that holds more than the budget; `note` is a sentence to end with. */
export function answerTooLarge(note = ""): GabbroError {
  const megabytes = MAX_ANSWER_BYTES / 1024 / 1024;
  const message = `The answer would be larger than ${megabytes} MB. Ask for fewer entries with the argument "first", or for fewer fields.`;
  return new GabbroError("QUERY_TOO_COMPLEX", note ? `${message} ${note}` : message);
}

/** Takes the fields of a list off the budget of the answer, before they are executed. Throws QUERY_TOO_COMPLEX. */
export function spendAnswerFields({ answerBudget }: Pick<Context, "answerBudget">, fields: number): void {
  answerBudget.leftFields -= fields;
  if (answerBudget.leftFields >= 0) return;
  const message = `The answer would have more than ${MAX_ANSWER_FIELDS} fields. Ask for fewer entries with the argument "first", or for fewer fields.`;
  throw new GabbroError("QUERY_TOO_COMPLEX", message);
}
