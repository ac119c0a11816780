import { z } from "zod";
import { badInput } from "../errors.ts";
import { lookUpText, text } from "./text.ts";

const MAX_PAGE = 100;
/** The default number of entries of a page. */
export const PAGE = 50;

/** The requested number of entries of a page. */
export const pageSize = () =>
  z
    .int()
    .min(1)
    .max(MAX_PAGE)
    .nullish()
    .describe(`How many at most, up to ${MAX_PAGE}; ${PAGE} when absent.`);

/** The input for a page of a list in the order of slugs. */
export const slugPage = {
  first: pageSize(),
  after: lookUpText().nullish().describe("Those after the one with this slug, which must still be there."),
};

const MAX_SEARCH_CHARS = 200;

/** A text to search for. Bounded, as it is compared at each position of each text. */
export const searchText = () => text().max(MAX_SEARCH_CHARS).nullish();

/** The entry at a cursor; BAD_INPUT when there is none (any more), as the page would have no beginning. */
export function atCursor<Entry>(entry: Entry | null | undefined, kind: string): Entry {
  if (entry) return entry;
  throw badInput([{ path: "after", message: `is not the ${kind} that is there` }]);
}

type ReadPage<Entry> = (page: { first: number; after: string | undefined }) => Promise<Entry[]>;

/** The pages of a list: `read` returns the page after a slug, and `turn` waits between two pages while other requests run. */
export async function* pagesOf<Entry extends { slug: string }>(
  turn: () => Promise<void>,
  read: ReadPage<Entry>,
): AsyncGenerator<Entry[]> {
  let after: string | undefined;
  for (;;) {
    const page = await read({ first: MAX_PAGE, after });
    yield page;
    if (page.length < MAX_PAGE) return;
    after = page.at(-1)!.slug;
    await turn();
  }
}

/** All entries of a paged list. */
export async function allPages<Entry extends { slug: string }>(
  ...reading: Parameters<typeof pagesOf<Entry>>
): Promise<Entry[]> {
  return (await Array.fromAsync(pagesOf(...reading))).flat();
}
