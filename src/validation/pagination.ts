import { setImmediate as nextTurn } from "node:timers/promises";
import { z } from "zod";
import { badInput } from "../errors.ts";
import { lookUpText, text } from "./text.ts";

const MOST_ON_A_PAGE = 100;
/** How many entries a page has when nobody says how many. */
export const PAGE = 50;

/** How many entries a page is to have. */
export const pageSize = () =>
  z
    .int()
    .min(1)
    .max(MOST_ON_A_PAGE)
    .nullish()
    .describe(`How many at most, up to ${MOST_ON_A_PAGE}; ${PAGE} when absent.`);

/** What asks for a page of a list that is in the order of slugs. */
export const slugPage = {
  first: pageSize(),
  after: lookUpText().nullish().describe("Those after the one with this slug, which must still be there."),
};

const MAX_SEARCH_CHARS = 200;

/** What is searched for in texts. It is compared at each place of each text, so its length multiplies the time. */
export const searchText = () => text().max(MAX_SEARCH_CHARS).nullish();

/** What a cursor points to; BAD_INPUT when there is no such thing (any more), as nobody could say where the page begins. */
export function atCursor<Found>(found: Found | null | undefined, kind: string): Found {
  if (found) return found;
  throw badInput([{ path: "after", message: `is not the ${kind} that is there` }]);
}

type ReadPage<Entry> = (page: { first: number; after: string | undefined }) => Promise<Entry[]>;

/** A paged list page by page, with others served in between: `read` gives the page after a slug. */
export async function* pagesOf<Entry extends { slug: string }>(
  read: ReadPage<Entry>,
): AsyncGenerator<Entry[]> {
  let after: string | undefined;
  for (;;) {
    const page = await read({ first: MOST_ON_A_PAGE, after });
    yield page;
    if (page.length < MOST_ON_A_PAGE) return;
    after = page.at(-1)!.slug;
    await nextTurn(); // on SQLite all pages would be read in one
  }
}

/** All entries of a paged list. */
export async function allPages<Entry extends { slug: string }>(read: ReadPage<Entry>): Promise<Entry[]> {
  return (await Array.fromAsync(pagesOf(read))).flat();
}
