import { GabbroError } from "../errors.ts";
import { countJsonValues, VALUE_WEIGHT } from "./jsonSize.ts";

/** What is read for one answer may have as many bytes in the database: more would fill the memory for one caller. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** So much for an event of a subscription: it is held for each listener until that has read it. */
export const MAX_EVENT_BYTES = 1024 * 1024;
/** An answer of GraphQL may have as many fields. */
export const MAX_ANSWER_FIELDS = 200_000;

/** What may still be read for the answer to one request; shared by all its resolvers. */
export interface AnswerBudget {
  maxBytes: number;
  leftBytes: number;
  leftFields: number;
  /** Takes bytes of what all answers may hold together. */
  hold?: ((bytes: number) => void) | undefined;
}

interface Budgeted {
  answerBudget: AnswerBudget;
}

/** The budget of an answer to a caller, or of an event. */
export function newAnswerBudget({
  maxBytes = MAX_ANSWER_BYTES,
  hold,
}: Partial<Pick<AnswerBudget, "maxBytes" | "hold">> = {}): AnswerBudget {
  return { maxBytes, leftBytes: maxBytes, leftFields: MAX_ANSWER_FIELDS, hold };
}

/**
 * Takes bytes off the budget of the answer; call it with the length that the database reports, before reading the text.
 * Throws QUERY_TOO_COMPLEX when the answer would be too large.
 */
export function spendAnswerBytes({ answerBudget }: Budgeted, bytes: number): void {
  answerBudget.leftBytes -= bytes;
  if (answerBudget.leftBytes < 0) throw answerTooLarge(answerBudget);
  answerBudget.hold?.(bytes);
}

/** To look through less takes longer than it is worth: it holds some 20 MB once it is parsed. */
const MAX_UNCOUNTED_BYTES = 1024 * 1024;

/**
 * Takes the values of a text of JSON off the budget, of an answer of more than a megabyte; call it before parsing the text,
 * as `{},` has 3 bytes and some 64 in memory.
 */
export function spendAnswerValues(budgeted: Budgeted, text: string): void {
  const { maxBytes, leftBytes } = budgeted.answerBudget;
  if (maxBytes - leftBytes <= MAX_UNCOUNTED_BYTES) return;
  spendAnswerBytes(budgeted, VALUE_WEIGHT * countJsonValues(text));
}

/** The error for an answer that holds more than its budget; `note` is a sentence to end with. */
export function answerTooLarge({ maxBytes }: Pick<AnswerBudget, "maxBytes">, note = ""): GabbroError {
  const message = `The answer would be larger than ${maxBytes / 1024 / 1024} MB. Ask for fewer entries with the argument "first", or for fewer fields.`;
  return new GabbroError("QUERY_TOO_COMPLEX", note ? `${message} ${note}` : message);
}

/** Takes the fields of a list off the budget of the answer, before they are executed. Throws QUERY_TOO_COMPLEX. */
export function spendAnswerFields({ answerBudget }: Budgeted, fields: number): void {
  answerBudget.leftFields -= fields;
  if (answerBudget.leftFields >= 0) return;
  const message = `The answer would have more than ${MAX_ANSWER_FIELDS} fields. Ask for fewer entries with the argument "first", or for fewer fields.`;
  throw new GabbroError("QUERY_TOO_COMPLEX", message);
}
