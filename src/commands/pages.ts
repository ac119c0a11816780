const PAGE = 100;

/**
 * The first entries of a paged list, up to a limit, and whether there are more: `read` returns the page after an entry.
 */
export async function readUpTo<Entry>(
  limit: number,
  read: (page: { limit: number; after: Entry | undefined }) => Promise<Entry[]>,
): Promise<{ entries: Entry[]; isMore: boolean }> {
  const entries: Entry[] = [];
  while (entries.length <= limit) {
    const size = Math.min(PAGE, limit + 1 - entries.length);
    const page = await read({ limit: size, after: entries.at(-1) });
    entries.push(...page);
    if (page.length < size) break;
  }
  return { entries: entries.slice(0, limit), isMore: entries.length > limit };
}
