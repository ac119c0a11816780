/** The end of an id tells the steps of a trace apart: among 10,000, two are alike once in 20,000 traces. */
const NAME_LENGTH = 10;
/** Addresses of some 2,000 characters go through every mail and chat; these names take less than a quarter of that. */
const MAX_NAMES = 40;
const ALL = "all";

/**
 * Which of the steps with others below them, given by id, are collapsed, as a part of the address: their names, or "all"
 * with the names of those that are expanded. Numbers would be shorter, but name other steps once a trace grows.
 * Undefined where either would be too long.
 */
export function writeCollapsed(
  parents: readonly string[],
  collapsed: ReadonlySet<string>,
): string | undefined {
  const closed = parents.filter((id) => collapsed.has(id));
  if (closed.length <= MAX_NAMES) return closed.map(nameOf).join(".");
  const open = parents.filter((id) => !collapsed.has(id));
  return open.length <= MAX_NAMES ? [ALL, ...open.map(nameOf)].join(".") : undefined;
}

export function readCollapsed(parents: readonly string[], part = ""): ReadonlySet<string> {
  const names = new Set(part.split("."));
  const isAll = names.has(ALL);
  return new Set(part ? parents.filter((id) => names.has(nameOf(id)) !== isAll) : []);
}

const nameOf = (id: string): string => id.slice(-NAME_LENGTH);
