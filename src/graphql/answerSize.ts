import { type ExecutionResult, GraphQLError, type OperationDefinitionNode } from "graphql";
import { answerTooLarge, MAX_ANSWER_BYTES } from "../answerBudget.ts";
import { jsonSize } from "../jsonSize.ts";

/**
 * The result, or an error in its place when it would take more than 32 MB as text. Aliases repeat a value that was read
 * once, so what was read does not bound it.
 */
export function refuseTooLarge(
  result: ExecutionResult,
  { operation }: OperationDefinitionNode,
): ExecutionResult {
  if (jsonSize(result.data, MAX_ANSWER_BYTES) <= MAX_ANSWER_BYTES) return result;
  const originalError = answerTooLarge(operation === "mutation" ? "The mutation was carried out." : "");
  return { errors: [new GraphQLError(originalError.message, { originalError })] };
}
