import { ACCENTS, LETTER } from "../../limits/words.ts";

// The words of the tokenizer unicode61 of FTS5, which has the Unicode of 2012: test/sqlite/collidingWords.test.ts compares them.

/**
 * The characters about which it agrees with Node.js whether they are letters, and what their lower case is, given the two lists below.
 * A capital sigma is left out, because its lower case depends on what follows.
 */
const AGREED =
  "\\0-\\xb4\\xb6-\\u012f\\u0131-\\u017e\\u0180-\\u037e\\u0380-\\u03a2\\u03a4-\\u03c1\\u03c3-\\u03cf\\u03f6-\\u0527\\u052f-\\u058c\\u058f-\\u0604\\u061e-\\u07fc\\u0800-\\u0887\\u0900-\\u09fc\\u09ff-\\u0a75\\u0a77-\\u0af9\\u0b56-\\u0bff\\u0c85-\\u0cf2\\u0d82-\\u0eb9\\u0ecf-\\u139f\\u13f6-\\u1714\\u1716-\\u180e\\u1810-\\u1884\\u1887-\\u19af\\u19ca-\\u1aaf\\u1aec-\\u1b4d\\u1b80-\\u1c88\\u1cfa-\\u1de6\\u1dfc-\\u1e9a\\u1e9c-\\u1fbd\\u1fbf-\\u2065\\u2070-\\u20b9\\u20c2-\\u2189\\u218c-\\u23f3\\u242a-\\u26ff\\u2701-\\u2b4c\\u2c30-\\u2e3b\\u2e5e-\\u2ffb\\u3000-\\u31e3\\u31f0-\\u32fe\\u3300-\\ua697\\ua69f-\\ua795\\ua82d-\\ua8c4\\ua900-\\ua9e4\\ua9e6-\\uaa7b\\uaa7e-\\uab5a\\uab6c-\\ufbc1\\ufbd3-\\ufd3f\\ufe00-\\ufe26\\ufe30-\\ufffd\\u{1f300}-\\u{1faff}\\u{20000}-\\u{2ffff}";
/** Emoji of after 2012, which it takes for letters, as it does all that it does not know. */
const LATE_EMOJI =
  "\\u{1f321}-\\u{1f32f}\\u{1f336}\\u{1f37d}-\\u{1f37f}\\u{1f394}-\\u{1f39f}\\u{1f3c5}\\u{1f3cb}-\\u{1f3df}\\u{1f3f1}-\\u{1f3ff}\\u{1f43f}\\u{1f441}\\u{1f4f8}\\u{1f4fd}-\\u{1f4ff}\\u{1f53e}\\u{1f53f}\\u{1f544}-\\u{1f54f}\\u{1f568}-\\u{1f5fa}\\u{1f641}-\\u{1f644}\\u{1f650}-\\u{1f67f}\\u{1f6c6}-\\u{1f6ff}\\u{1f774}-\\u{1faff}";

const LETTERS = `${LETTER}\\p{Cn}${LATE_EMOJI}`;

/** A character about which the two may disagree. */
export const DISPUTED = new RegExp(`[^${AGREED}]`, "u");

/** The words; where they have disputed characters, each may be several words of FTS5. */
export const WORDS = new RegExp(
  `(?:[${LETTERS}]|[^${AGREED}])(?:[${LETTERS}${ACCENTS}]|[^${AGREED}])*`,
  "gu",
);

/** The hash of no bytes: fts5HashKey2 in its fts5_hash.c, which goes from the last byte of a word to the first. */
export const HASH_OF_NOTHING = 13;

export const hashOn = (hash: number, byte: number): number => (hash << 3) ^ hash ^ byte;

/** Stands before a word in the main index. */
const MARK_OF_INDEX = 0x30;

/** The lower bits of a hash: FTS5 has 1,024 slots, and doubles them when half as many words are in. */
export const slotOf = (hash: number, slots: number): number => hashOn(hash, MARK_OF_INDEX) & (slots - 1);
