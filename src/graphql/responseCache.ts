import { Kind, type OperationDefinitionNode } from "graphql";
import type { Context } from "../context.ts";
import { createCache } from "../database/cache.ts";
import { schema } from "../schema.ts";
import type { Answer } from "../workspaces/idempotency.resolvers.ts";

export interface Execution {
  answer: Answer;
  hasErrors: boolean;
}

const answers = createCache<Answer>();

/**
 * Executes an operation, or returns its cached answer when all its fields are `cacheable`. The cache is valid until anything
 * may have changed, and holds no answers with errors. `key` returns the whole request, and is null for one
 * that is too large to be kept.
 */
export async function cachedResponse(
  context: Context,
  { operation, key }: { operation: OperationDefinitionNode; key: (() => string) | null },
  execute: () => Promise<Execution>,
): Promise<Answer> {
  const { access, database } = context;
  if (!key || !access?.scopes.includes("read") || !isCacheable(operation)) return (await execute()).answer;
  let execution: Execution | undefined;
  const cached = await answers(database, { workspaceId: access.workspaceId, key: key() }, async () => {
    execution = await execute();
    return execution.hasErrors ? null : execution.answer;
  });
  return cached ?? execution!.answer;
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
