import type { Context } from "../context.ts";
import { inPieces, type Piece } from "../database/lengths.ts";
import { createFinder } from "../database/loader.ts";
import { inPage, type Page } from "../database/pages.ts";
import { checkDeadline } from "../limits/deadline.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { RejectedItem } from "./entities.ts";

export type Rejected = Omit<RejectedItem, "workspace">;

/** A page of what was rejected, the newest first. */
export async function rejectedItems(context: Context, page: Page): Promise<Rejected[]> {
  return inPage(itemsOf(context), "id", page, "desc").execute();
}

/** Their texts take up to 4 kB each. */
const MAX_ITEMS_IN_PIECE = 250;

/** All that was rejected after a time, the newest first. */
export async function rejectedItemsSince(context: Context, since: Date): Promise<Rejected[]> {
  const workspace = authorize(context, "read");
  const items: Rejected[] = [];
  const read = ({ after, limit }: Piece) => {
    checkDeadline(context);
    const later = itemsOf(context).where("createdAt", ">", since);
    return inPage(later, "id", { after: after ?? undefined, limit }, "desc").execute();
  };
  const turn = () => context.database.turn(workspace);
  for await (const piece of inPieces(workspace, { read, turn, limit: MAX_ITEMS_IN_PIECE }))
    items.push(...piece);
  return items;
}

/** The rejected item with that id; null when the workspace has none. */
export const findRejectedItem: (context: Context, id: string) => Promise<Rejected | null> = createFinder(
  (context, ids) => itemsOf(context).where("id", "in", ids).execute(),
);

const itemsOf = (context: Context) =>
  context.database.read
    .selectFrom("RejectedItem")
    .select(["id", "createdAt", "count", "endpoint", "code", "client", "reason", "sample"])
    .where("workspace", "=", authorize(context, "read"));
