import { type ExecutionResult, GraphQLError, type OperationDefinitionNode } from "graphql";
import { type AnswerBudget, answerTooLarge } from "../limits/answerBudget.ts";
import { createJsonBytes, MAX_ESCAPED_BYTES } from "../limits/jsonBytes.ts";
import { jsonSize } from "../limits/jsonSize.ts";

/** Writing a larger answer takes a turn of its own: 32 MB take up to 140 ms. */
const MAX_BYTES_WITHIN_TURN = 4 * 1024 * 1024;

const largeData = new WeakSet<object>();

/** Whether the text of a result that is within its budget is large. */
export const isLarge = ({ data }: ExecutionResult): boolean => data != null && largeData.has(data);

/**
 * The result, or an error instead when its text would exceed the budget. The budget of reads does not bound the text, as
 * aliases repeat a value that is read once, and escapes make a control character six times as long.
 */
export function refuseTooLarge(
  result: ExecutionResult,
  { operation }: Pick<OperationDefinitionNode, "operation">,
  answerBudget: AnswerBudget,
): ExecutionResult {
  const { maxBytes } = answerBudget;
  const size = jsonSize(result.data, maxBytes);
  if (size > MAX_BYTES_WITHIN_TURN) largeData.add(result.data!);
  if (size * MAX_ESCAPED_BYTES <= maxBytes || jsonSize(result.data, maxBytes, createJsonBytes()) <= maxBytes)
    return result;
  const note = operation === "mutation" ? "The mutation was carried out." : "";
  const originalError = answerTooLarge(answerBudget, note);
  return { errors: [new GraphQLError(originalError.message, { originalError })] };
}
