import { brandWithType, type ObjectRef } from "@pothos/core";
import { z } from "zod";
import type { Context } from "../context.ts";
import { list } from "../validation/list.ts";
import { idOf } from "../validation/text.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { argumentsOf, batched, builder } from "./builder.ts";

/** What has an id of its own. */
export const Node = builder.nodeInterfaceRef();

interface Finder {
  scope: "read" | "admin";
  find: (context: Context, id: string) => Promise<object | null>;
}

const finders: Finder[] = [];

/** Has `node` find the nodes of a type, for tokens with a scope; `find` returns null when the workspace has none with an id. */
export function findsNode<Found extends object>(
  type: ObjectRef<typeof builder.$inferSchemaTypes, Found>,
  scope: Finder["scope"],
  find: (context: Context, id: string) => Promise<Found | null>,
): void {
  finders.push({
    scope,
    find: async (context, id) => {
      const found = await find(context, id);
      if (found) brandWithType(found, type as never);
      return found;
    },
  });
}

/** The node with that id; null when the workspace has none that the token may read. Ids are unique among all types. */
async function node(context: Context, id: string): Promise<object | null> {
  authorize(context, "read");
  const { scopes } = authenticated(context);
  const found = await Promise.all(
    finders.map(({ scope, find }) => (scopes.includes(scope) ? find(context, id) : null)),
  );
  return found.find((one) => one !== null) ?? null;
}

const MAX_NODES = 100;

const nodeInput = z.object({ id: idOf("a node").describe("The id of the node.") });
const nodesInput = z.object({
  ids: list(idOf("a node"), MAX_NODES).describe(`The ids of the nodes, at most ${MAX_NODES}.`),
});

builder.queryFields((t) => ({
  node: t.field({
    ...batched,
    type: Node,
    nullable: true,
    description:
      "Whatever has that id; null when there is nothing, or only something that needs another scope.",
    args: argumentsOf(t, nodeInput, { id: "ID" }),
    resolve: (_, { id }, context) => node(context, id),
  }),
  nodes: t.field({
    ...batched,
    type: [Node],
    nullable: { list: false, items: true },
    description: "Whatever has those ids, in their order, with null for each that `node` does not find.",
    args: argumentsOf(t, nodesInput, { ids: ["ID"] }),
    resolve: (_, { ids }, context) => Promise.all(ids.map((id) => node(context, id))),
  }),
}));
