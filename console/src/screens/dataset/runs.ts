/** Entries that follow one another, from an index on. */
interface Run<Entry> {
  from: number;
  entries: Entry[];
  /** The cursor of its last entry; null where it is not known. */
  end: string | null;
}

/** A long list of which parts are held: runs in their order, which neither overlap nor touch. */
export interface Sparse<Entry> {
  count: number;
  runs: readonly Run<Entry>[];
}

/** Indices from one to before another. */
export interface Range {
  from: number;
  to: number;
}

/** A page to read: so many entries from an index on, which is `offset` entries after a cursor. */
export interface PageToRead {
  from: number;
  after: string | null;
  offset: number;
  first: number;
}

const endOf = ({ from, entries }: Pick<Run<unknown>, "from" | "entries">) => from + entries.length;

export function entryAt<Entry>({ runs }: Sparse<Entry>, index: number): Entry | undefined {
  const run = runs.find((one) => one.from <= index && index < endOf(one));
  return run?.entries[index - run.from];
}

/** The index of the entry with an id, or -1 where it is not held. */
export function indexOf<Entry extends { id: string }>({ runs }: Sparse<Entry>, id: string): number {
  for (const { from, entries } of runs) {
    const n = entries.findIndex((entry) => entry.id === id);
    if (n !== -1) return from + n;
  }
  return -1;
}

export const entryWith = <Entry extends { id: string }>(list: Sparse<Entry>, id: string): Entry | undefined =>
  entryAt(list, indexOf(list, id));

/** The page that holds the first entry of a range that is missing, or null. It ends where a run begins. */
export function nextPage<Entry>(
  { count, runs }: Sparse<Entry>,
  range: Range,
  pageSize: number,
): PageToRead | null {
  let missing = Math.max(0, range.from);
  for (const run of runs) if (run.from <= missing) missing = Math.max(missing, endOf(run));
  if (missing >= Math.min(range.to, count)) return null;
  const before = runs.findLast((run) => run.from <= missing);
  const next = runs.find((run) => run.from > missing)?.from ?? count;
  // Whoever scrolls up is at the end of what is missing.
  const from = Math.min(missing, Math.max(before ? endOf(before) : 0, next - pageSize));
  const known = runs.findLast((run) => run.from <= from && run.end !== null);
  const first = Math.min(pageSize, next - from);
  return { from, after: known?.end ?? null, offset: from - (known ? endOf(known) : 0), first };
}

/** A page that was read. */
export interface Page<Entry> {
  from: number;
  entries: Entry[];
  end: string | null;
  hasNext: boolean;
}

/**
 * The list with a page that was read, and shorter where the page shows that. Where the page holds an entry that another run
 * holds, entries have moved, and only the page is kept.
 */
export function withPage<Entry extends { id: string }>(
  { count, runs }: Sparse<Entry>,
  { from, entries, end, hasNext }: Page<Entry>,
): Sparse<Entry> {
  const last = from + entries.length;
  if (!hasNext && last < count) return { count: last, runs: [] }; // others have deleted entries, nobody knows which
  if (entries.length === 0) return { count, runs };
  const ids = new Set(entries.map(({ id }) => id));
  const hasMoved = runs.some((run) => run.entries.some(({ id }) => ids.has(id)));
  const page = { from, entries, end };
  const all = hasMoved ? [page] : [...runs, page].toSorted((a, b) => a.from - b.from);
  return { count, runs: all.reduce<Run<Entry>[]>(joined, []) };
}

function joined<Entry>(runs: Run<Entry>[], run: Run<Entry>): Run<Entry>[] {
  const before = runs.at(-1);
  if (!before || endOf(before) !== run.from) return [...runs, run];
  return [...runs.slice(0, -1), { ...run, from: before.from, entries: [...before.entries, ...run.entries] }];
}

/** The parts of runs that lie in a range; an end that is cut off has no cursor. */
function within<Entry>(runs: readonly Run<Entry>[], { from, to }: Range): readonly Run<Entry>[] {
  if (runs.every((run) => from <= run.from && endOf(run) <= to)) return runs;
  return runs.flatMap((run) => {
    const entries = run.entries.slice(Math.max(0, from - run.from), Math.max(0, to - run.from));
    if (entries.length === 0) return [];
    return [{ from: Math.max(from, run.from), entries, end: endOf(run) <= to ? run.end : null }];
  });
}

/** The list without what lies far from the middle of a range, so that it holds at most `max` entries. */
export function trimmed<Entry>(list: Sparse<Entry>, { from, to }: Range, max: number): Sparse<Entry> {
  const middle = Math.floor((from + to) / 2);
  const near = { from: middle - Math.floor(max / 2), to: middle + Math.floor(max / 2) };
  return { count: list.count, runs: within(list.runs, near) };
}

/** The list with one of its entries changed, if it is held. */
export function withChange<Entry extends { id: string }>(
  { count, runs }: Sparse<Entry>,
  id: string,
  to: (entry: Entry) => Entry,
): Sparse<Entry> {
  const change = (entry: Entry) => (entry.id === id ? to(entry) : entry);
  return {
    count,
    runs: runs.map((run) =>
      run.entries.some((entry) => entry.id === id) ? { ...run, entries: run.entries.map(change) } : run,
    ),
  };
}

/** The list without an entry; where that entry is not held, nobody knows which entries have moved, and none is kept. */
export function without<Entry extends { id: string }>(list: Sparse<Entry>, id: string): Sparse<Entry> {
  const index = indexOf(list, id);
  const count = Math.max(0, list.count - 1);
  if (index === -1) return { count, runs: [] };
  const runs = list.runs.flatMap((run) => {
    if (run.from > index) return [{ ...run, from: run.from - 1 }];
    const entries = run.entries.filter((entry) => entry.id !== id);
    return entries.length > 0 ? [{ ...run, entries }] : [];
  });
  return { count, runs: runs.reduce<Run<Entry>[]>(joined, []) };
}

/** The list with an entry more at its end, which is held if the end is. */
export function withEntry<Entry>({ count, runs }: Sparse<Entry>, entry: Entry): Sparse<Entry> {
  const last = runs.at(-1);
  const added = { from: count, entries: [entry], end: null };
  const isHeld = count === 0 || (last && endOf(last) === count);
  return { count: count + 1, runs: isHeld ? [...runs, added].reduce<Run<Entry>[]>(joined, []) : runs };
}
