import { Kind, type OperationDefinitionNode } from "graphql";
import type { Context } from "../context.ts";
import { createCache } from "../database/cache.ts";
import { schema } from "../schema.ts";
import type { Answer } from "../workspaces/idempotency.resolvers.ts";

export interface Made {
  answer: Answer;
  /** Without errors. */
  isWhole: boolean;
}

const answers = createCache<Answer>();

/**
 * Answers an operation whose fields are all marked as `cacheable` as it was answered before, until anything may have changed;
 * any other, and what is not whole, is made each time. `key` holds all that was asked.
 */
export async function cachedResponse(
  context: Context,
  { operation, key }: { operation: OperationDefinitionNode; key: () => string },
  make: () => Promise<Made>,
): Promise<Answer> {
  const { access, database } = context;
  if (!access?.scopes.includes("read") || !isCacheable(operation)) return (await make()).answer;
  let made: Made | undefined;
  const known = await answers(database, { workspaceId: access.workspaceId, key: key() }, async () => {
    made = await make();
    return made.isWhole ? made.answer : null;
  });
  return known ?? made!.answer;
}

const cacheableFields = new Set(
  Object.values(schema.getQueryType()!.getFields())
    .filter(({ extensions }) => extensions.cacheable)
    .map(({ name }) => name),
);

function isCacheable({ operation, selectionSet }: OperationDefinitionNode): boolean {
  return (
    operation === "query" &&
    selectionSet.selections.every((node) => node.kind === Kind.FIELD && cacheableFields.has(node.name.value))
  );
}
