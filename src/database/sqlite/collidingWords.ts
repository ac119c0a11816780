import { randomInt } from "node:crypto";
import { DISPUTED, HASH_OF_NOTHING, hashOn, slotOf, WORDS } from "./unicode61.ts";

/** The fewest slots that FTS5 has: words that share one of more of them share one of these. */
const SLOTS = 1 << 10;
/** Of 20,000 UUIDs, numbers or words of documentation at most 40 share a slot, of 50,000 about 80. */
const MAX_WORDS_OF_SLOT = 100;
/** The characters of words with a disputed one. */
const MAX_DISPUTED = 500;
/** As many take more than the megabyte beyond which FTS5 empties its table before it goes on with another log. */
const MAX_SEEN = 50_000;

/**
 * Makes the function that leaves out, of the texts of a transaction, words that would block this process. FTS5 keeps words in a
 * hash table without a seed until it writes them, so a caller can choose words of one slot, and then repeat one that stands behind
 * all others: a log of 100 kB took 0.6 s, a trace of 200 kB 2.4 s, a dozen logs with 1,000 such words each 1.1 s. A slot takes 100
 * words; a search does not find further ones. The plain way, to index less, would have to stop after 20 kB of any log.
 */
export function createWordFilter(): (text: string) => string {
  const wordsOfSlot = new Uint8Array(SLOTS);
  const seen = new Set<string>();
  let disputed = 0;
  const isIndexed = (word: string, isDisputed: boolean): boolean => {
    if (isDisputed) {
      disputed += word.length;
      return disputed <= MAX_DISPUTED;
    }
    const slot = slotOf(Buffer.from(word).reverse().reduce(hashOn, HASH_OF_NOTHING), SLOTS);
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
      const isDisputed = DISPUTED.test(word);
      const folded = isDisputed ? word : word.toLowerCase();
      if (seen.has(folded)) return word;
      if (!isIndexed(folded, isDisputed)) return "";
      seen.add(folded);
      return word;
    });
  };
}

/** To filter so much takes 20 ms, and to look at more up to 40. */
const MAX_LOOKED_AT = 200_000;
/** Characters whose bytes and lower case are not looked up here. */
const MAX_OTHER = 200;
/** More slots than FTS5 has for the words of a commit, so that few words are taken for those of another. */
const LOOK_SLOTS = 1 << 16;
/** Nobody outside knows which words it takes for the same. */
const SECRET = randomInt(1 << 30) * 2 + 1;
const BACKSLASH = 0x5c;

/**
 * Whether words in some JSON may be too many for a slot. It takes 3 microseconds for a log of 1 kB, which the filter takes 18 for.
 * It says yes too often: for other alphabets than that of Western Europe, and where three words of a slot follow each other again and
 * again.
 */
export function mayCollide(texts: string[]): boolean {
  const look = {
    lastWords: new Int32Array(2 * LOOK_SLOTS),
    wordsOfSlot: new Uint8Array(SLOTS),
    others: 0,
  };
  return texts.some((text) => text.length > MAX_LOOKED_AT || hasFullSlot(text, look));
}

interface Look {
  /** Of each of many slots the last two words. */
  lastWords: Int32Array;
  wordsOfSlot: Uint8Array;
  others: number;
}

function hasFullSlot(text: string, look: Look): boolean {
  let [hash, word] = [HASH_OF_NOTHING, 0];
  for (let at = text.length - 1; at >= -1; at--) {
    const letter = at < 0 ? 0 : toLowerCase(text.charCodeAt(at));
    if (isLetter(letter)) {
      hash = letter < 0x80 ? hashOn(hash, letter) : hashOn(hashOn(hash, (letter & 0x3f) | 0x80), 0xc3);
      word = (Math.imul(word, SECRET) + letter) | 0;
      continue;
    }
    // Behind \u a word would have a prefix of which there are 2,000: halves of surrogate pairs.
    if (isOther(letter) || (letter === BACKSLASH && text[at + 1] === "u")) look.others += 1;
    if (word !== 0 && isNew(look.lastWords, 2 * slotOf(hash, LOOK_SLOTS), word)) {
      const slot = slotOf(hash, SLOTS);
      look.wordsOfSlot[slot]! += 1;
      if (look.wordsOfSlot[slot]! > MAX_WORDS_OF_SLOT) return true;
    }
    [hash, word] = [HASH_OF_NOTHING, 0];
  }
  return look.others > MAX_OTHER;
}

/** Whether a word is neither of the last two of its slot. */
function isNew(lastWords: Int32Array, at: number, word: number): boolean {
  const last = lastWords[at]!;
  if (last === word) return false;
  lastWords[at] = word;
  const isBeforeLast = lastWords[at + 1] === word;
  lastWords[at + 1] = last;
  return !isBeforeLast;
}

const isAsciiCapital = (letter: number) => letter >= 0x41 && letter <= 0x5a;

/** From À to Þ, but for the sign of multiplication. */
const isLatinCapital = (letter: number) => letter >= 0xc0 && letter <= 0xde && letter !== 0xd7;

const toLowerCase = (letter: number): number =>
  isAsciiCapital(letter) || isLatinCapital(letter) ? letter + 0x20 : letter;

/** From ß to ÿ, but for the sign of division. */
const isLatin = (letter: number): boolean => letter >= 0xdf && letter <= 0xff && letter !== 0xf7;

const isLetter = (letter: number): boolean =>
  (letter >= 0x61 && letter <= 0x7a) || (letter >= 0x30 && letter <= 0x39) || isLatin(letter);

/** Dashes, quotation marks and the like are known to end a word. */
const isOther = (letter: number): boolean => letter > 0x7f && !(letter >= 0x2010 && letter <= 0x2027);
