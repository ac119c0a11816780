import { randomInt } from "node:crypto";

const SLOTS = 1 << 16;
/** Of 20,000 UUIDs, numbers or words of documentation, at most 10 share a slot. */
const MAX_WORDS_OF_SLOT = 32;
/** The characters of words with a disputed one, which may be several words in FTS5. */
const MAX_DISPUTED = 10_000;
/** As many take more than the megabyte beyond which FTS5 empties its table before it goes on with another log. */
const MAX_SEEN = 50_000;

/**
 * The characters on which the tokenizer unicode61, with the Unicode of 2012, agrees with Node.js about what is a letter and what
 * is its lower case. A capital sigma is left out, because its lower case depends on what follows.
 */
const AGREED =
  "\\0-\\xb4\\xb6-\\u012f\\u0131-\\u017e\\u0180-\\u02ff\\u0370-\\u037e\\u0380-\\u03a2\\u03a4-\\u03c1\\u03c3-\\u03cf\\u03f6-\\u0527\\u0531-\\u058c\\u058f-\\u0604\\u061e-\\u07fc\\u0900-\\u09fc\\u0a77-\\u0af9\\u0b56-\\u0bff\\u0c85-\\u0cf2\\u0d82-\\u0eb9\\u1e00-\\u1e9a\\u1e9c-\\u1fbd\\u2000-\\u2065\\u2070-\\u20b9\\u20c2-\\u2189\\u218c-\\u23f3\\u2500-\\u26ff\\u2701-\\u2b4c\\u3000-\\u31e3\\u3200-\\u32fe\\u3300-\\ua697\\uac00-\\ud7a3\\ufe30-\\ufffd\\u{1f300}-\\u{1f320}\\u{1f442}-\\u{1f4f7}\\u{1f600}-\\u{1f640}\\u{20000}-\\u{2ffff}";
/** A character about which they may disagree. */
export const DISPUTED = new RegExp(`[^${AGREED}]`, "u");
/** The words as FTS5 has them, or several of them with what is disputed between. */
export const WORDS = new RegExp(`(?:[\\p{L}\\p{N}\\p{Co}\\p{Cn}]|[^${AGREED}])+`, "gu");

/**
 * Makes the function that leaves out, of the texts of a transaction, words that would block this process. FTS5 keeps words in a
 * hash table without a seed until it writes them, so a caller can choose words of one slot: a log of 100 kB of them took 0.6 s, a
 * trace of 200 kB 2.4 s, and now 10 ms. A slot takes 32 words; a search does not find further ones. The plain way, to index
 * less, would have to stop after 20 kB of any log.
 */
export function createWordFilter(): (text: string) => string {
  const wordsOfSlot = new Uint8Array(SLOTS);
  const seen = new Set<string>();
  let disputed = 0;
  const isIndexed = (word: string): boolean => {
    if (DISPUTED.test(word)) {
      disputed += word.length;
      return disputed <= MAX_DISPUTED;
    }
    const slot = slotOf(word);
    if (wordsOfSlot[slot] === MAX_WORDS_OF_SLOT) return false;
    wordsOfSlot[slot]! += 1;
    return true;
  };
  const startAnew = () => {
    wordsOfSlot.fill(0);
    seen.clear();
    disputed = 0;
  };
  return (text) => {
    if (seen.size > MAX_SEEN) startAnew();
    return text.replaceAll(WORDS, (word) => {
      const folded = word.toLowerCase();
      if (seen.has(folded)) return word;
      if (!isIndexed(folded)) return "";
      seen.add(folded);
      return word;
    });
  };
}

// The hash of a word in FTS5, fts5HashKey2 in its fts5_hash.c, goes from the last byte to the first and on to the mark of the main index.
const HASH_OF_NOTHING = 13;
const MARK = 0x30;
const BACKSLASH = 0x5c;

const hashOn = (hash: number, byte: number): number => (hash << 3) ^ hash ^ byte;

/** The lower bits of the hash. */
const slotOfHash = (hash: number): number => hashOn(hash, MARK) & (SLOTS - 1);

const slotOf = (word: string): number =>
  slotOfHash(Buffer.from(word).reverse().reduce(hashOn, HASH_OF_NOTHING));

/** To filter so much takes 20 ms, and to look at more up to 40. */
const MAX_LOOKED_AT = 200_000;
/** As many words with one such letter each, which splits them here, would take 25 ms. */
const MAX_NOT_ASCII = 4_000;
/** Nobody outside knows which words it takes for the same. */
const SECRET = randomInt(1 << 30) * 2 + 1;

/**
 * Whether words in some JSON may be too many for a slot. It takes 2 microseconds for a log of 1 kB, which the filter takes 18 for.
 * It says yes too often: for much that is not ASCII, and where three words of a slot follow each other again and again.
 */
export function mayCollide(texts: string[]): boolean {
  const look = { lastWords: new Int32Array(2 * SLOTS), changes: new Uint8Array(SLOTS), notAscii: 0 };
  return texts.some((text) => text.length > MAX_LOOKED_AT || hasFullSlot(text, look));
}

interface Look {
  /** Of each slot the last two words. */
  lastWords: Int32Array;
  /** How often a word followed that was neither. */
  changes: Uint8Array;
  /** Characters. */
  notAscii: number;
}

function hasFullSlot(text: string, look: Look): boolean {
  let [hash, word] = [HASH_OF_NOTHING, 0];
  for (let at = text.length - 1; at >= -1; at--) {
    const byte = at < 0 ? 0 : toLowerCase(text.charCodeAt(at));
    if (isLetter(byte)) {
      hash = hashOn(hash, byte);
      word = (Math.imul(word, SECRET) + byte) | 0;
      continue;
    }
    // Behind \\u a word would have a prefix of which there are 2,000: halves of surrogate pairs.
    if (byte > 0x7f || (byte === BACKSLASH && text[at + 1] === "u")) look.notAscii += 1;
    if (word !== 0 && isChange(look.lastWords, 2 * slotOfHash(hash), word)) {
      const slot = slotOfHash(hash);
      look.changes[slot]! += 1;
      if (look.changes[slot]! > MAX_WORDS_OF_SLOT) return true;
    }
    [hash, word] = [HASH_OF_NOTHING, 0];
  }
  return look.notAscii > MAX_NOT_ASCII;
}

function isChange(lastWords: Int32Array, at: number, word: number): boolean {
  const last = lastWords[at]!;
  if (last === word) return false;
  lastWords[at] = word;
  const isBoth = lastWords[at + 1] === word;
  lastWords[at + 1] = last;
  return !isBoth;
}

const toLowerCase = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);

const isLetter = (byte: number): boolean => (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x30 && byte <= 0x39);
