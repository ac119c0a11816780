import DataLoader from "dataloader";
import { runShared } from "../limits/eventLoop.ts";

/** How many secrets one statement looks up. */
const MAX_LOOKED_UP = 500;

/**
 * Looks up what secrets give access to, by their hashes: by one call of `find` at a time, for all that wait for the last one. With a
 * statement for each secret, callers with unknown ones keep the connections of PostgreSQL busy (docs/internals/decisions.md).
 * `name` is whom the statements count for.
 */
export function createHashLookup<Found>(
  name: string,
  find: (hashes: string[]) => Promise<Map<string, Found>>,
): (hash: string) => Promise<Found | undefined> {
  let last: Promise<unknown> = Promise.resolve();
  const lookup = new DataLoader<string, Found | undefined>(
    async (hashes) => {
      const found = runShared(name, () => find([...new Set(hashes)]));
      last = found.catch(() => {});
      const byHash = await found;
      return hashes.map((hash) => byHash.get(hash));
    },
    {
      cache: false,
      maxBatchSize: MAX_LOOKED_UP,
      batchScheduleFn: (begin) => void last.then(begin),
    },
  );
  return (hash) => lookup.load(hash);
}
