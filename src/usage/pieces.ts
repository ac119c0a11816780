/** A stretch without an exact cut is cut after this many characters: the tokenizers take quadratic time in its length. */
export const MAX_STRETCH_CHARS = 256;

/**
 * Cuts a text into pieces of at most `MAX_STRETCH_CHARS` characters, so that a huge one can be counted little by little: one of
 * long words takes 5 ms, where 4,096 characters took 25. The counts of the pieces add up to the count of the whole text, except
 * where more characters than that hold no place to cut exactly (a long run of letters, of spaces or of emoji): each cut there may
 * change the count by a token or so.
 */
export function* piecesOf(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > MAX_STRETCH_CHARS) {
    const end = lastExactCut(text, start) ?? wholeCharacters(text, start + MAX_STRETCH_CHARS);
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

// All our encodings first split a text by a regular expression, then merge bytes inside each part. A cut changes
// nothing if no part can ever hold both characters around it, and if it does not end the text inside white space,
// the only place where those expressions look ahead. That is so:
export const EXACT_CUT = new RegExp(
  [
    "(?<=\\S)(?=[^\\S\\r\\n])", // before a space (a line break may belong to the punctuation before it),
    "(?<=\\p{L})(?![\\p{L}\\p{M}'])", // after a word (marks and 's belong to it),
    "(?<=\\p{N})(?!\\p{N})", // after a number,
    "(?<=[^\\s\\p{N}])(?=\\p{N})", // and before one (unless after a space, which r50k_base takes along).
  ].join("|"),
  "uy",
);

function lastExactCut(text: string, start: number): number | undefined {
  for (let cut = start + MAX_STRETCH_CHARS; cut > start; cut--) {
    EXACT_CUT.lastIndex = cut;
    if (wholeCharacters(text, cut) === cut && EXACT_CUT.test(text)) return cut;
  }
  return undefined;
}

/** The cut, or one character earlier where it would split a surrogate pair. */
function wholeCharacters(text: string, cut: number): number {
  return (text.codePointAt(cut - 1) ?? 0) > 0xffff ? cut - 1 : cut;
}
