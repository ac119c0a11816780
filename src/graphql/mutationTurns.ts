import { setImmediate as nextTurn } from "node:timers/promises";
import type { GraphQLSchema } from "graphql";
import type { Context } from "../context.ts";

/**
 * Has each mutation of an operation but its first begin in a turn of the event loop of its own: on SQLite one that is done
 * waits for nothing, and thirty of them would be carried out in one turn.
 */
export function separateMutations(schema: GraphQLSchema): GraphQLSchema {
  const begun = new WeakSet<Context>();
  for (const field of Object.values(schema.getMutationType()!.getFields())) {
    const resolve = field.resolve!;
    field.resolve = (parent, args, context: Context, info) => {
      if (begun.has(context)) return nextTurn().then(() => resolve(parent, args, context, info));
      begun.add(context);
      return resolve(parent, args, context, info);
    };
  }
  return schema;
}
