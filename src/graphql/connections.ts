import type { ObjectRef } from "@pothos/core";
import { type PageInfoShape, resolveCursorConnection } from "@pothos/plugin-relay";
import type { Page } from "../database/pages.ts";
import { badInput } from "../errors.ts";
import { PAGE, toCursor } from "../validation/pagination.ts";
import { builder } from "./builder.ts";

/** The type of a page of a list of `node`, named after it: edges with cursors, and the same nodes without them. */
export function connectionType<Node extends {}>(node: ObjectRef<SchemaTypes, Node>, list: string) {
  return builder.connectionObject(
    { type: node, name: `${node.name}Connection`, description: `A page of ${list}.` },
    { name: `${node.name}Edge`, description: `An entry of a page of ${list}.` },
  );
}

type SchemaTypes = typeof builder.$inferSchemaTypes;

/** The arguments of a page, validated: cursors are parsed to sort keys. */
export interface PageArguments {
  first?: number | null | undefined;
  last?: number | null | undefined;
  after?: string | null | undefined;
  before?: string | null | undefined;
}

export interface PageOptions<Entry> {
  /** Reads a page, one entry more than was asked for: it shows whether another page follows. */
  read: (page: Page) => Promise<Entry[]>;
  /** The sort key of an entry, for its cursor. */
  key: (entry: Entry) => string;
  /** The size of a page when none is given. */
  size?: number;
}

export interface Connection<Entry> {
  edges: readonly { cursor: string; node: Entry }[];
  pageInfo: PageInfoShape;
}

/** The inputs limit the sizes of pages. */
const MAX_SIZE = Number.MAX_SAFE_INTEGER;

/** Reads a page of a list as a connection. Throws BAD_INPUT when the page has two ends. */
export async function connect<Entry extends {}>(
  args: PageArguments,
  { read, key, size = PAGE }: PageOptions<Entry>,
): Promise<Connection<Entry>> {
  if (args.first != null && args.last != null)
    throw badInput([{ path: "last", message: "cannot be given together with first" }]);
  const { edges, pageInfo }: Connection<Entry> = await resolveCursorConnection(
    { args, defaultSize: size, maxSize: MAX_SIZE, toCursor: (entry: Entry) => toCursor(key(entry)) },
    read,
  );
  const [startCursor, endCursor] = [edges.at(0)?.cursor ?? null, edges.at(-1)?.cursor ?? null];
  return { edges, pageInfo: { ...pageInfo, startCursor, endCursor } };
}
