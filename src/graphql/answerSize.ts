import { type ExecutionResult, GraphQLError, type OperationDefinitionNode } from "graphql";
import type { Context } from "../context.ts";
import { type AnswerBudget, answerTooLarge } from "../limits/answerBudget.ts";
import { createJsonBytes, isWide, MAX_ESCAPED_BYTES } from "../limits/jsonBytes.ts";
import { jsonSize, SLOW_FRACTION, type Weights } from "../limits/jsonSize.ts";
import { authenticated } from "../workspaces/resolvers.ts";

/** Measuring a larger answer takes turns of its own, and so does writing it. */
const MAX_BYTES_WITHIN_TURN = 1024 * 1024;
/** What a member weighs beside its name and its value: 32 MB have half a million members, which take 0.12 s to write. */
const MEMBER_WEIGHT = 32;

const largeData = new WeakSet<object>();

/** Whether the text of a result that is within its budget is large. */
export const isLarge = ({ data }: ExecutionResult): boolean => data != null && largeData.has(data);

/** The result of a request, or an error; a promise where it is large, and is measured in turns of its workspace. */
export function measuredResult(
  result: ExecutionResult,
  operation: OperationDefinitionNode,
  context: Context,
): ExecutionResult | Promise<ExecutionResult> {
  const measuring = refuseTooLarge(result, operation, context.answerBudget);
  const first = measuring.next();
  return first.done ? first.value : finishInTurns(measuring, context);
}

async function finishInTurns(measuring: Measuring, context: Context): Promise<ExecutionResult> {
  for (;;) {
    await context.database.turn(authenticated(context).workspaceId);
    const { done, value } = measuring.next();
    if (done) return value;
  }
}

/** The result of an event, whose budget is small, or an error. */
export function measuredEvent(
  result: ExecutionResult,
  operation: OperationDefinitionNode,
  { answerBudget }: Context,
): ExecutionResult {
  // It is written for each of its listeners, in one turn.
  const measuring = refuseTooLarge(result, operation, answerBudget, { fraction: SLOW_FRACTION });
  for (;;) {
    const { done, value } = measuring.next();
    if (done) return value;
  }
}

type Measuring = Generator<void, ExecutionResult>;

/**
 * The result, or an error instead when its text would exceed the budget. The budget of reads does not bound the text, as
 * aliases repeat a value that is read once, and escapes make a control character six times as long. Yields before each
 * piece of work that takes milliseconds: the 900,000 members of six aliases took 0.5 s.
 */
function* refuseTooLarge(
  result: ExecutionResult,
  { operation }: OperationDefinitionNode,
  answerBudget: AnswerBudget,
  weights: Weights = {},
): Measuring {
  const { maxBytes } = answerBudget;
  const { data } = result;
  const within = Math.min(MAX_BYTES_WITHIN_TURN, maxBytes / MAX_ESCAPED_BYTES);
  if (sizeOf(data, within, weights) <= within) return result;
  yield;
  const size = sizeOf(data, maxBytes, weights);
  if (size <= maxBytes) {
    if (size > MAX_BYTES_WITHIN_TURN) largeData.add(data!);
    if (size * MAX_ESCAPED_BYTES <= maxBytes) return result;
    yield;
    const isInWideText = hasWide(data, maxBytes);
    yield;
    if (sizeOf(data, maxBytes, { ...weights, lengthOf: createJsonBytes(isInWideText) }) <= maxBytes)
      return result;
  }
  const note = operation === "mutation" ? "The mutation was carried out." : "";
  const originalError = answerTooLarge(answerBudget, note);
  return { errors: [new GraphQLError(originalError.message, { originalError })] };
}

/** Whether any text of a result is wide: all of its JSON is then. */
function hasWide(data: unknown, maxBytes: number): boolean {
  let found = false;
  const lengthOf = (text: string) => {
    found ||= isWide(text);
    return 0;
  };
  sizeOf(data, maxBytes, { lengthOf });
  return found;
}

const sizeOf = (data: unknown, max: number, weights: Weights) =>
  jsonSize(data, max, { ...weights, member: MEMBER_WEIGHT });
