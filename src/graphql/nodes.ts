import { brandWithType, type ObjectRef } from "@pothos/core";
import { z } from "zod";
import type { Context } from "../context.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { list } from "../validation/list.ts";
import { idOf, text } from "../validation/text.ts";
import { authenticated, authorize } from "../workspaces/resolvers.ts";
import { argumentsOf, batched, builder } from "./builder.ts";

/** What has an id of its own. */
export const Node = builder.nodeInterfaceRef();

/** How nodes of a type are found: by their ids, and where the type has versions by their ids in one of them. */
interface Finders<Found> {
  find: (context: Context, id: string) => Promise<Found | null>;
  findAt?: (context: Context, of: { id: string; version: number }) => Promise<Found | null>;
}

interface Finder {
  scope: "read" | "admin";
  find: (context: Context, id: string) => Promise<object | null>;
  findAt?: ((context: Context, of: { id: string; version: number }) => Promise<object | null>) | undefined;
}

const finders: Finder[] = [];

/** Has `node` find the nodes of a type, for tokens with a scope; the finders return null when the workspace has none. */
export function findsNode<Found extends object>(
  type: ObjectRef<typeof builder.$inferSchemaTypes, Found>,
  scope: Finder["scope"],
  { find, findAt }: Finders<Found>,
): void {
  const branded = (found: Found | null) => {
    if (found) brandWithType(found, type);
    return found;
  };
  finders.push({
    scope,
    find: async (context, id) => branded(await find(context, id)),
    findAt: findAt && (async (context, of) => branded(await findAt(context, of))),
  });
}

/** What an id takes while all types are asked for it: 16 requests for 3,000 each held 0.7 GB. */
const BYTES_PER_ID = 10_000;

/** The node with that id; null when the workspace has none that the token may read. Ids are unique among all types. */
async function node(context: Context, nodeId: string): Promise<object | null> {
  authorize(context, "read");
  spendAnswerBytes(context, BYTES_PER_ID);
  const { scopes } = authenticated(context);
  const [id, version] = nodeId.split("@") as [string, string | undefined];
  const found = await Promise.all(
    finders
      .filter(({ scope }) => scopes.includes(scope))
      .map(({ find, findAt }) =>
        version === undefined
          ? find(context, id)
          : (findAt?.(context, { id, version: Number(version) }) ?? null),
      ),
  );
  return found.find((one) => one !== null) ?? null;
}

const MAX_NODES = 100;

const VERSIONED = /^([0-9a-f-]{36})@([1-9]\d{0,8})$/i;

/** A UUID, @ and nine digits. */
const MAX_ID_CHARACTERS = 46;

const plainId = idOf("a node");

/** An id, or one with @ and a version. */
const nodeId = () =>
  text(MAX_ID_CHARACTERS).transform((value, context) => {
    const [, id = value, version] = VERSIONED.exec(value) ?? [];
    const parsed = plainId.safeParse(id);
    if (parsed.success) return version === undefined ? parsed.data : `${parsed.data}@${version}`;
    context.addIssue({ code: "custom", message: "must be the id of a node" });
    return z.NEVER;
  });

const nodeInput = z.object({ id: nodeId().describe("The id of the node.") });
const nodesInput = z.object({
  ids: list(nodeId(), MAX_NODES).describe(`The ids of the nodes, at most ${MAX_NODES}.`),
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
  // Not batched: 3,000 ids of 30 aliases took a turn of 0.4 s.
  nodes: t.field({
    type: [Node],
    nullable: { list: false, items: true },
    description: "Whatever has those ids, in their order, with null for each that `node` does not find.",
    args: argumentsOf(t, nodesInput, { ids: ["ID"] }),
    resolve: (_, { ids }, context) => Promise.all(ids.map((id) => node(context, id))),
  }),
}));
