import { type SomeTokenParts, tokenParts } from "../usage/tokenParts.ts";

/** What a tree is made of: a log without its payload. */
export interface TreeLog extends SomeTokenParts {
  id: string;
  externalId: string | null;
  parentExternalId: string | null;
  /** The parent, when it is a span of another service. */
  remoteParentId: string | null;
  startMs: number;
  type: string;
  status: string | null;
  costSource: string;
  cost: number | null;
}

/** Sums over a log and all below it, tokens in disjoint parts. What is unknown counts as 0; the cost is in US dollars. */
export interface Rollup extends Record<(typeof tokenParts)[number], number> {
  logs: number;
  errors: number;
  generations: number;
  /** Calls of models without a known cost. */
  unpriced: number;
  cost: number;
}

export const noRollup = (): Rollup => ({
  ...{ logs: 0, errors: 0, generations: 0, unpriced: 0, cost: 0, inputTokens: 0, outputTokens: 0 },
  ...{ cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 },
});

/** Where a log stands in its trace. */
export interface Placed<Entry extends TreeLog = TreeLog> {
  log: Entry;
  parentId: string | null;
  depth: number;
  /** Its parent in the same service is not stored, or is below the log itself: the log stands at the top. */
  missingParent: boolean;
  subtree: Rollup;
}

/**
 * The logs of a trace in display order: each before those below it, siblings by start, then by id. Its shape follows from what
 * is stored, in whatever order it came. Of several logs with one external id the first has the children. Takes n log n time.
 */
export function treeOf<Entry extends TreeLog>(logs: Entry[]): Placed<Entry>[] {
  const growing = growTree(logs);
  let step = growing.next();
  while (!step.done) step = growing.next();
  return step.value;
}

/** `treeOf` of many logs, which takes half a second for 100,000: yields where others may have a turn. */
export function* growTree<Entry extends TreeLog>(logs: Entry[]): Generator<void, Placed<Entry>[]> {
  const sorted = logs.toSorted((a, b) => a.startMs - b.startMs || (a.id < b.id ? -1 : 1));
  yield;
  const parents = yield* parentsOf(sorted);
  const children = new Map<Entry | undefined, Entry[]>();
  yield* withPauses(sorted, (log) => {
    const siblings = children.get(parents.get(log));
    if (siblings) siblings.push(log);
    else children.set(parents.get(log), [log]);
  });
  const placed = yield* inPreorder(children, parents);
  yield* sumUp(placed);
  return placed;
}

const PIECE_LOGS = 1_000;

/** Stops after each piece of a list. */
export function* withPauses<Entry>(entries: Iterable<Entry>, visit: (entry: Entry) => void): Generator<void> {
  let visited = 0;
  for (const entry of entries) {
    visit(entry);
    visited += 1;
    if (visited % PIECE_LOGS === 0) yield;
  }
}

function* parentsOf<Entry extends TreeLog>(sorted: Entry[]): Generator<void, Map<Entry, Entry>> {
  const byExternalId = new Map<string, Entry>();
  yield* withPauses(sorted, (log) => {
    if (log.externalId !== null && !byExternalId.has(log.externalId)) byExternalId.set(log.externalId, log);
  });
  const parents = new Map<Entry, Entry>();
  yield* withPauses(sorted, (log) => {
    const parent = byExternalId.get(log.parentExternalId ?? log.remoteParentId ?? "");
    if (parent) parents.set(log, parent);
  });
  yield* cutLoops(sorted, parents);
  return parents;
}

/** Takes the parent from the first log of each loop. */
function* cutLoops<Entry extends TreeLog>(sorted: Entry[], parents: Map<Entry, Entry>): Generator<void> {
  const order = new Map<Entry, number>();
  yield* withPauses(sorted, (log) => order.set(log, order.size));
  const walks = new Map<Entry, Entry>(); // by log: where the walk began that came by first
  yield* withPauses(sorted, (start) => {
    let at: Entry | undefined = start;
    while (at && !walks.has(at)) {
      walks.set(at, start);
      at = parents.get(at);
    }
    if (!at || walks.get(at) !== start) return;
    let first = at;
    for (let next = parents.get(at)!; next !== at; next = parents.get(next)!)
      if (order.get(next)! < order.get(first)!) first = next;
    parents.delete(first);
  });
}

/** Leaves out calls of client libraries to Gabbro itself; what is below them moves up. */
function* inPreorder<Entry extends TreeLog>(
  children: Map<Entry | undefined, Entry[]>,
  parents: ReadonlyMap<Entry, Entry>,
): Generator<void, Placed<Entry>[]> {
  const placed: Placed<Entry>[] = [];
  const place = (log: Entry, depth: number, parentId: string | null) => ({ log, depth, parentId });
  const waiting = (children.get(undefined) ?? []).toReversed().map((log) => place(log, 0, null));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { log, depth, parentId } = next;
    const isHidden = log.type === "internal";
    const missingParent = log.parentExternalId !== null && !parents.has(log);
    if (!isHidden) placed.push({ log, depth, parentId, missingParent, subtree: noRollup() });
    if (placed.length % PIECE_LOGS === 0) yield;
    for (const child of (children.get(log) ?? []).toReversed())
      waiting.push(isHidden ? place(child, depth, parentId) : place(child, depth + 1, log.id));
  }
  return placed;
}

/** Adds each log and what is below it to its parent. Those below stand behind it. */
function* sumUp(placed: Placed[]): Generator<void> {
  const byId = new Map<string, Placed>();
  yield* withPauses(placed, (one) => byId.set(one.log.id, one));
  yield* withPauses(placed.toReversed(), ({ log, parentId, subtree }) => {
    addTo(subtree, { ...log, logs: 1, ...countsOf(log) });
    if (parentId !== null) addTo(byId.get(parentId)!.subtree, subtree);
  });
}

const countsOf = ({ status, type, costSource }: TreeLog) => ({
  errors: status === "error" ? 1 : 0,
  generations: type === "generation" ? 1 : 0,
  unpriced: costSource === "UNPRICED" ? 1 : 0,
});

type Part = SomeTokenParts &
  Pick<Rollup, "logs" | "errors" | "generations" | "unpriced"> & { cost: number | null };

const counts = ["logs", "errors", "generations", "unpriced", ...tokenParts] as const;

export function addTo(rollup: Rollup, part: Part): void {
  for (const name of counts) rollup[name] += part[name] ?? 0;
  rollup.cost = Number((rollup.cost + (part.cost ?? 0)).toPrecision(14)); // without the errors of binary fractions
}
