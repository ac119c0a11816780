import { Kind, type OperationDefinitionNode } from "graphql";

/** The root field of an operation; "(several)" when there are more. */
export function topFieldOf({ selectionSet }: OperationDefinitionNode): string {
  const [first, ...rest] = selectionSet.selections;
  return first?.kind === Kind.FIELD && rest.length === 0 ? first.name.value : "(several)";
}
