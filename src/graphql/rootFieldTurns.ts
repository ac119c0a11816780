import type { GraphQLSchema } from "graphql";
import type { Context } from "../context.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { authenticated } from "../workspaces/resolvers.ts";

/** As many as a page of an application requests at once. */
const MAX_QUERIES_AT_ONCE = 4;
/** One, as each may write. */
const MAX_MUTATIONS_AT_ONCE = 1;

/**
 * Starts the fields of Query and Mutation, after the first of an operation, in a turn of the event loop each: on SQLite
 * thirty fields would otherwise run in one turn. Fields that a DataLoader looks up together stay together.
 */
export function separateRootFields(schema: GraphQLSchema): GraphQLSchema {
  const startedFields = new WeakMap<Context, number>();
  for (const [type, limit] of [
    [schema.getQueryType()!, MAX_QUERIES_AT_ONCE],
    [schema.getMutationType()!, MAX_MUTATIONS_AT_ONCE],
  ] as const)
    for (const field of Object.values(type.getFields())) {
      if (field.extensions.batched) continue;
      const resolve = field.resolve!;
      field.resolve = (parent, args, context: Context, info) => {
        const before = startedFields.get(context) ?? 0;
        startedFields.set(context, before + 1);
        if (before < limit) return resolve(parent, args, context, info);
        return context.database.turn(authenticated(context).workspaceId).then(() => {
          checkDeadline(context); // the fields of a request that has timed out still wait for their turns
          return resolve(parent, args, context, info);
        });
      };
    }
  return schema;
}
