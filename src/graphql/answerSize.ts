import { type ExecutionResult, GraphQLError, type OperationDefinitionNode } from "graphql";
import { type AnswerBudget, answerTooLarge } from "../limits/answerBudget.ts";
import { jsonSize } from "../limits/jsonSize.ts";

/**
 * The result, or an error instead when its text would exceed the budget. The budget of reads does not bound the text, as
 * aliases repeat a value that is read once.
 */
export function refuseTooLarge(
  result: ExecutionResult,
  { operation }: Pick<OperationDefinitionNode, "operation">,
  answerBudget: AnswerBudget,
): ExecutionResult {
  if (jsonSize(result.data, answerBudget.maxBytes) <= answerBudget.maxBytes) return result;
  const note = operation === "mutation" ? "The mutation was carried out." : "";
  const originalError = answerTooLarge(answerBudget, note);
  return { errors: [new GraphQLError(originalError.message, { originalError })] };
}
