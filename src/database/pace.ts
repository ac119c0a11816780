import type { Context } from "../context.ts";
import type { AnswerBudget } from "../limits/answerBudget.ts";
import { checkDeadline } from "../limits/deadline.ts";

/** graphql-js blocks other requests for one to twenty microseconds per field, the latter for what is a promise. */
export const MAX_FIELDS_AT_ONCE = 5_000;

interface Pace {
  /** The fields that are left of this turn of the event loop. */
  turn: { left: number };
  /** Resolves when the lists before have taken their turns. */
  last: Promise<void>;
}

const paces = new WeakMap<AnswerBudget, Pace>();

function paceOf({ answerBudget }: Context): Pace {
  const pace = paces.get(answerBudget) ?? { turn: { left: MAX_FIELDS_AT_ONCE }, last: Promise.resolve() };
  paces.set(answerBudget, pace);
  return pace;
}

/** Whether so many fields, which it takes, are left of this turn. */
export function isInTurn(context: Context, fields: number): boolean {
  const { turn } = paceOf(context);
  if (turn.left < fields) return false;
  turn.left -= fields;
  return true;
}

/** Waits for the turn of so many fields, after those that asked before. */
export function nextTurn(context: Context, fields: number): Promise<void> {
  const pace = paceOf(context);
  pace.last = pace.last.then(() => takeTurn(context, fields));
  return pace.last.then(() => checkDeadline(context));
}

async function takeTurn(context: Context, fields: number): Promise<void> {
  const { turn } = paceOf(context);
  if (turn.left < fields) {
    await context.database.turn(context.access!.workspaceId);
    turn.left = MAX_FIELDS_AT_ONCE;
  }
  turn.left -= fields;
}

/** Goes on at once, or in the turn of so many fields: call it where thousands of promises would go on in one turn. */
export async function pace(context: Context, fields: number): Promise<void> {
  if (!isInTurn(context, fields)) await nextTurn(context, fields);
}
