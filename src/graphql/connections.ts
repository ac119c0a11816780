import type { ObjectRef } from "@pothos/core";
import { type PageInfoShape, resolveCursorConnection } from "@pothos/plugin-relay";
import type { Context } from "../context.ts";
import { type Page, restOf } from "../database/pages.ts";
import { badInput } from "../errors.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { PAGE, toCursor } from "../validation/pagination.ts";
import { authenticated } from "../workspaces/resolvers.ts";
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
  /** What an entry takes off the budget of the answer. */
  entryBytes?: number;
  /** How many entries one turn of the event loop reads; all of a page when none is given. */
  pieceSize?: number;
}

/** An entry takes up to 5 kB of memory until the answer is written; the budget counts about a quarter. */
const ENTRY_BYTES = 1_000;
/** What a page takes while it is read, without its entries: 93,000 of one entry, in 32 requests, held 0.33 GB. */
const PAGE_BYTES = 4_000;

/** Reading 1,000 tokens, prices or audit entries at once takes 35 to 65 ms. */
export const PIECE_SIZE = 200;

export interface Connection<Entry> {
  edges: readonly { cursor: string; node: Entry }[];
  pageInfo: PageInfoShape;
}

/** The inputs limit the sizes of pages. */
const MAX_SIZE = Number.MAX_SAFE_INTEGER;

/** Reads a page of a list as a connection. Throws BAD_INPUT when the page has two ends. */
export async function connect<Entry extends {}>(
  context: Context,
  args: PageArguments,
  options: PageOptions<Entry>,
): Promise<Connection<Entry>> {
  if (args.first != null && args.last != null)
    throw badInput([{ path: "last", message: "cannot be given together with first" }]);
  spendAnswerBytes(context, PAGE_BYTES);
  const { key, size = PAGE } = options;
  const page: Connection<Entry> = await resolveCursorConnection(
    { args, defaultSize: size, maxSize: MAX_SIZE, toCursor: () => "" },
    (page: Page) => readPage(context, page, options),
  );
  const edges = page.edges.map(({ node }) => new Edge(node, key));
  const [startCursor, endCursor] = [edges.at(0)?.cursor ?? null, edges.at(-1)?.cursor ?? null];
  return { edges, pageInfo: { ...page.pageInfo, startCursor, endCursor } };
}

/** Reads a page and takes its entries off the budget of the answer, piece by piece, while other requests run in between. */
async function readPage<Entry>(
  context: Context,
  page: Page,
  {
    read,
    key,
    entryBytes = ENTRY_BYTES,
    pieceSize = page.limit,
  }: Pick<PageOptions<Entry>, "read" | "key" | "entryBytes" | "pieceSize">,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (let rest = page; ; ) {
    checkDeadline(context);
    const limit = Math.min(rest.limit, pieceSize);
    const piece = await read({ ...rest, limit });
    spendAnswerBytes(context, piece.length * entryBytes);
    for (const entry of piece) entries.push(entry);
    if (piece.length < limit || limit === rest.limit) return entries;
    rest = restOf(rest, limit, key(piece.at(-1)!));
    await context.database.turn(authenticated(context).workspaceId);
  }
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
