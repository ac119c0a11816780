import { Kind, type OperationDefinitionNode } from "graphql";
import type { Context } from "../context.ts";
import { authenticated } from "../workspaces/resolvers.ts";

/** Refuses who is not known. The schema itself is public, so that the playground can show it; data needs a token. */
export function refuseUnknown({ selectionSet }: OperationDefinitionNode, context: Context): void {
  const asksOnlyOfSchema = selectionSet.selections.every(
    (node) => node.kind === Kind.FIELD && node.name.value.startsWith("__"),
  );
  if (!asksOnlyOfSchema) authenticated(context);
}

/** The one field of the schema that an operation asks for; "(several)" when there are more. */
export function topFieldOf({ selectionSet }: OperationDefinitionNode): string {
  const [first, ...others] = selectionSet.selections;
  return first?.kind === Kind.FIELD && others.length === 0 ? first.name.value : "(several)";
}
