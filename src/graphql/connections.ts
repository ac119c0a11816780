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
  const page: Connection<Entry> = await resolveCursorConnection(
    { args, defaultSize: size, maxSize: MAX_SIZE, toCursor: () => "" },
    read,
  );
  const edges = page.edges.map(({ node }) => new Edge(node, key));
  const [startCursor, endCursor] = [edges.at(0)?.cursor ?? null, edges.at(-1)?.cursor ?? null];
  return { edges, pageInfo: { ...page.pageInfo, startCursor, endCursor } };
}

/**
 * Makes its cursor on demand: those of 10,000 rows take 2.5 % of the processor time of an answer that asks for `nodes`. A class,
 * as objects that each define a getter make the same answer take a third longer.
 */
class Edge<Entry> {
  readonly node: Entry;
  readonly #key: PageOptions<Entry>["key"];

  constructor(node: Entry, key: PageOptions<Entry>["key"]) {
    this.node = node;
    this.#key = key;
  }

  get cursor(): string {
    return toCursor(this.#key(this.node));
  }
}
