import { Kind, type OperationDefinitionNode } from "graphql";

/** The one field of the schema that an operation asks for; "(several)" when there are more. */
export function topFieldOf({ selectionSet }: OperationDefinitionNode): string {
  const [first, ...others] = selectionSet.selections;
  return first?.kind === Kind.FIELD && others.length === 0 ? first.name.value : "(several)";
}
