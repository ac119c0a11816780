import { GabbroError } from "../errors.ts";
import { countJson, VALUE_WEIGHT } from "./jsonSize.ts";

/** Bytes in the database that are read for one answer: more would fill the memory for one caller. */
export const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
/** The same for an event of a subscription, which is held for each listener until the listener has read it. */
export const MAX_EVENT_BYTES = 1024 * 1024;
export const MAX_ANSWER_FIELDS = 200_000;

/** About what a field of an entry of a list takes until the answer is written. */
const FIELD_BYTES = 100;
/** What an error of a field takes, with what it was found in and its stack. */
const ERROR_BYTES = 8_000;

export type Hold = (bytes: number) => void;

/** What may still be read for the answer to one request. All its resolvers share it. */
export interface AnswerBudget {
  maxBytes: number;
  leftBytes: number;
  leftFields: number;
  /** Counts bytes against the limit of all answers together. */
  hold?: Hold | undefined;
  /** Waits until no other long answer to a mutation of the workspace is made; others then wait until this one is closed. */
  beAlone?: (() => Promise<void>) | undefined;
  /** Why nothing more is read. All fields fail with it: the stacks of 90,000 errors took 0.2 GB. */
  refusal?: unknown;
}

interface Budgeted {
  answerBudget: AnswerBudget;
}

/** The budget of an answer to a caller, or of an event. */
export function newAnswerBudget({
  maxBytes = MAX_ANSWER_BYTES,
  hold,
  beAlone,
}: Partial<Pick<AnswerBudget, "maxBytes" | "hold" | "beAlone">> = {}): AnswerBudget {
  return { maxBytes, leftBytes: maxBytes, leftFields: MAX_ANSWER_FIELDS, hold, beAlone };
}

/**
 * Takes bytes off the budget of the answer. Call it with the length that the database reports, before reading the text.
 * Throws QUERY_TOO_COMPLEX when the answer would be too large, UNAVAILABLE when all answers together are, and the error of
 * whatever refused this answer before.
 */
export function spendAnswerBytes({ answerBudget }: Budgeted, bytes: number): void {
  spend(answerBudget, () => {
    answerBudget.leftBytes -= bytes;
    if (answerBudget.leftBytes < 0) throw answerTooLarge(answerBudget);
    answerBudget.hold?.(bytes);
  });
}

function spend(answerBudget: AnswerBudget, take: () => void): void {
  if (answerBudget.refusal) throw answerBudget.refusal;
  try {
    take();
  } catch (error) {
    answerBudget.refusal = error;
    throw error;
  }
}

/** Counting the values of smaller answers is not worth the time: parsed, they hold about 20 MB. */
const MAX_UNCOUNTED_BYTES = 1024 * 1024;

/** What a member of an object weighs beside its value, and a number as its name: parsing and writing them takes longer. */
const MEMBER_WEIGHT = 64;
const NUMBER_WEIGHT = 96;

/**
 * Takes the values of a JSON text off the budget, once the answer has more than a megabyte: `{},` has 3 bytes as text and about
 * 64 in memory.
 */
function spendAnswerValues(budgeted: Budgeted, text: string): void {
  const { maxBytes, leftBytes } = budgeted.answerBudget;
  if (leftBytes >= maxBytes - MAX_UNCOUNTED_BYTES) return;
  const { values, members, numbers } = countJson(text);
  spendAnswerBytes(budgeted, VALUE_WEIGHT * values + MEMBER_WEIGHT * members + NUMBER_WEIGHT * numbers);
}

/** The value of a stored JSON text, which is taken off the budget of the answer before it is parsed. */
export function parseStored<Value>(budgeted: Budgeted, text: string): Value {
  spendAnswerValues(budgeted, text);
  return JSON.parse(text);
}

/** The error for an answer beyond its budget; `note` is appended to the message. */
export function answerTooLarge({ maxBytes }: Pick<AnswerBudget, "maxBytes">, note = ""): GabbroError {
  const message = `The answer would be larger than ${maxBytes / 1024 / 1024} MB. Ask for fewer entries with the argument "first", or for fewer fields.`;
  return new GabbroError("QUERY_TOO_COMPLEX", note ? `${message} ${note}` : message);
}

/** Takes an error of a field off the budget of the answer: 58,000 of them ended a process with a heap of 512 MB. */
export const spendAnswerError = (budgeted: Budgeted): void => spendAnswerBytes(budgeted, ERROR_BYTES);

/** Takes the fields of a list off the budget of the answer, before they are resolved. Throws QUERY_TOO_COMPLEX. */
export function spendAnswerFields({ answerBudget }: Budgeted, fields: number): void {
  spend(answerBudget, () => {
    answerBudget.leftFields -= fields;
    if (answerBudget.leftFields < 0) throw tooManyFields();
  });
}

/** Counts the fields of a list against what all answers hold. Throws UNAVAILABLE. */
export function holdAnswerFields({ answerBudget }: Budgeted, fields: number): void {
  spend(answerBudget, () => answerBudget.hold?.(fields * FIELD_BYTES));
}

function tooManyFields(): GabbroError {
  const message = `The answer would have more than ${MAX_ANSWER_FIELDS} fields. Ask for fewer entries with the argument "first", or for fewer fields.`;
  return new GabbroError("QUERY_TOO_COMPLEX", message);
}

/** Counts bytes against the limit of all answers together, but only as many as are in memory at once. */
export function holdLargest({ answerBudget }: Budgeted): Hold {
  let held = 0;
  return (bytes) => {
    if (bytes <= held) return;
    answerBudget.hold?.(bytes - held);
    held = bytes;
  };
}

/** Budgets for the pages of an answer that is streamed, of which one page is in memory at once. */
export function budgetsOfPages(budgeted: Budgeted): () => AnswerBudget {
  const holdPage = holdLargest(budgeted);
  return () => {
    let ofPage = 0;
    const hold = (bytes: number) => {
      ofPage += bytes;
      holdPage(ofPage);
    };
    return newAnswerBudget({ hold });
  };
}
