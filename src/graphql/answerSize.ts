import { type ExecutionResult, GraphQLError, type OperationDefinitionNode } from "graphql";
import { answerTooLarge, MAX_ANSWER_BYTES } from "../answerBudget.ts";

/** The quotation marks, the colon and the comma around a member. */
const PUNCTUATION_BYTES = 4;

/**
 * The result, or an error in its place when it would take more than 32 MB as text. Aliases repeat a value that was read
 * once, so what was read does not bound it.
 */
export function refuseTooLarge(
  result: ExecutionResult,
  { operation }: OperationDefinitionNode,
): ExecutionResult {
  if (!exceeds(result.data, MAX_ANSWER_BYTES)) return result;
  const originalError = answerTooLarge(operation === "mutation" ? "The mutation was carried out." : "");
  return { errors: [new GraphQLError(originalError.message, { originalError })] };
}

/** Whether a value has more characters than that as JSON; it stops looking there. */
function exceeds(root: unknown, max: number): boolean {
  const pending: unknown[] = [root];
  let characters = 0;
  while (pending.length > 0 && characters <= max) {
    const value = pending.pop();
    if (typeof value === "string") characters += value.length + PUNCTUATION_BYTES;
    else if (typeof value !== "object" || value === null) characters += PUNCTUATION_BYTES;
    else if (Array.isArray(value)) for (const item of value) pending.push(item);
    else
      for (const key in value) {
        characters += key.length + PUNCTUATION_BYTES;
        pending.push((value as Record<string, unknown>)[key]);
      }
  }
  return characters > max;
}
