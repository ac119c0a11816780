import { LRUCache } from "lru-cache";

const CACHED_CHARACTERS = 2_000_000;

/** What was made of documents, by their text. Bounded by characters: bounded by number, a few huge ones fill the memory. */
export function documentCache<Made extends object>(): LRUCache<string, Made> {
  return new LRUCache({ maxSize: CACHED_CHARACTERS, sizeCalculation: (_, text) => text.length + 1 });
}
