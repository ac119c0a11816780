import type { Context } from "../context.ts";
import { createFinder } from "../database/loader.ts";
import { inPage, type Page } from "../database/pages.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { RejectedItem } from "./entities.ts";

export type Rejected = Omit<RejectedItem, "workspace">;

/** A page of what was rejected, the newest first. */
export async function rejectedItems(context: Context, page: Page): Promise<Rejected[]> {
  return inPage(itemsOf(context), "id", page, "desc").execute();
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
