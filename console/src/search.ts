/** The state of a screen in its address: texts alone, and what is empty is left out. */
export type Search = Record<string, string | undefined>;

export function parseSearch(query: string): Search {
  return Object.fromEntries(new URLSearchParams(query));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const entries = Object.entries(search).filter(([, value]) => value != null && value !== "");
  const query = new URLSearchParams(entries.map(([key, value]) => [key, String(value)])).toString();
  return query && `?${query}`;
}

/** Keeps the named parts of an address, so that a screen reads no other. */
export const only =
  <Key extends string>(...keys: Key[]) =>
  (search: Record<string, unknown>): Partial<Record<Key, string>> =>
    Object.fromEntries(keys.flatMap((key) => (search[key] ? [[key, String(search[key])]] : []))) as Partial<
      Record<Key, string>
    >;
