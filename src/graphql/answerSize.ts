import { type ExecutionResult, GraphQLError, type OperationDefinitionNode } from "graphql";
import { type AnswerBudget, answerTooLarge } from "../limits/answerBudget.ts";
import { jsonSize } from "../limits/jsonSize.ts";

/**
 * The result, or an error in its place when it would be larger as text than the budget allows. Aliases repeat a value
 * that was read once, so what was read does not bound it.
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
