import type { GraphQLSchema } from "graphql";
import type { Context } from "../context.ts";
import { authenticated } from "../workspaces/resolvers.ts";

/** As many as a page asks for at once. */
const MAX_QUERIES_AT_ONCE = 4;
/** Each may write. */
const MAX_MUTATIONS_AT_ONCE = 1;

/**
 * Has the fields of Query and Mutation begin in turns of the event loop of their own, but for the first of an operation: on
 * SQLite a field that is done waits for nothing, and thirty of them would be carried out in one turn. Those that a
 * DataLoader looks up together stay together.
 */
export function separateRootFields(schema: GraphQLSchema): GraphQLSchema {
  const begun = new WeakMap<Context, number>();
  for (const [type, most] of [
    [schema.getQueryType()!, MAX_QUERIES_AT_ONCE],
    [schema.getMutationType()!, MAX_MUTATIONS_AT_ONCE],
  ] as const)
    for (const field of Object.values(type.getFields())) {
      if (field.extensions.batched) continue;
      const resolve = field.resolve!;
      field.resolve = (parent, args, context: Context, info) => {
        const before = begun.get(context) ?? 0;
        begun.set(context, before + 1);
        if (before < most) return resolve(parent, args, context, info);
        const turn = context.database.turn(authenticated(context).workspaceId);
        return turn.then(() => resolve(parent, args, context, info));
      };
    }
  return schema;
}
