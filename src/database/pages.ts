import type { SelectQueryBuilder } from "kysely";

/** A part of a list in its order: at most `limit` entries after and before sort keys; with `inverted` the last ones, from the end. */
export interface Page {
  after?: string | undefined;
  before?: string | undefined;
  limit: number;
  inverted?: boolean;
}

/** The condition and the options by which an entity manager finds a page of entities in the order of their ids. */
export function idsInPage({ after, before, limit, inverted = false }: Page, order: "asc" | "desc" = "asc") {
  const [later, earlier] = order === "asc" ? ["$gt", "$lt"] : ["$lt", "$gt"];
  const bounds = { ...(after && { [later]: after }), ...(before && { [earlier]: before }) };
  const direction = (order === "asc") === inverted ? "desc" : "asc";
  return {
    where: after || before ? { id: bounds } : {},
    options: { orderBy: { id: direction }, limit } as const,
  };
}

/**
 * Limits a query to a page of a list in the order of a unique column. An inverted page comes out from its end. The casts are
 * there because Kysely cannot tell which type a column has whose table is a parameter.
 */
export function inPage<DB, TB extends keyof DB, Row>(
  query: SelectQueryBuilder<DB, TB, Row>,
  column: Parameters<SelectQueryBuilder<DB, TB, Row>["orderBy"]>[0] & string,
  { after, before, limit, inverted = false }: Page,
  order: "asc" | "desc" = "asc",
): SelectQueryBuilder<DB, TB, Row> {
  const isAscending = order === "asc";
  let page = query;
  if (after !== undefined) page = page.where(column as never, isAscending ? ">" : "<", after as never);
  if (before !== undefined) page = page.where(column as never, isAscending ? "<" : ">", before as never);
  return page.orderBy(column, isAscending === inverted ? "desc" : "asc").limit(limit);
}

/** The rest of a page after `count` entries, the last of which has the sort key `last`; the whole page after none. */
export function restOf(page: Page, count: number, last: string | undefined): Page {
  const end = last !== undefined && (page.inverted ? { before: last } : { after: last });
  return { ...page, ...end, limit: page.limit - count };
}

/**
 * The entries of a page that were found, and further ones in place of those that were removed before they were read: a page
 * that is too short is taken for the last one.
 */
export async function fillPage<Entry extends { slug: string }>(
  page: Page,
  { found, entries }: { found: number; entries: Entry[] },
  readOn: (rest: Page) => Promise<Entry[]>,
): Promise<Entry[]> {
  if (entries.length === found || found < page.limit) return entries;
  return [...entries, ...(await readOn(restOf(page, entries.length, entries.at(-1)?.slug)))];
}
