import { diffLines, diffWordsWithSpace } from "diff";

export interface DiffPart {
  text: string;
  isChanged: boolean;
}

/** A line of the comparison: both sides, or one of them where a line was added or removed. */
export type DiffLine =
  | { kind: "same"; text: string }
  | { kind: "changed"; before: DiffPart[] | null; after: DiffPart[] | null };

/** The words of a longer line are not compared, as that takes time in the square of its length. */
const MAX_WORDS_CHARACTERS = 5_000;

/** The lines of two texts side by side, with the words that differ. */
export function compareLines(before: string, after: string): DiffLine[] {
  const lines: DiffLine[] = [];
  // Else a last line would differ from the same line with others below it.
  const changes = diffLines(`${before}\n`, `${after}\n`, { timeout: 2_000 });
  if (!changes) return wholly(before.split("\n"), after.split("\n"));
  for (let n = 0; n < changes.length; n += 1) {
    const { value, added, removed } = changes[n]!;
    if (!added && !removed) {
      lines.push(...splitLines(value).map((text) => ({ kind: "same" as const, text })));
      continue;
    }
    const next = changes[n + 1];
    const isReplaced = removed && next?.added;
    if (isReplaced) n += 1;
    const old = removed ? splitLines(value) : [];
    const fresh = added ? splitLines(value) : isReplaced ? splitLines(next.value) : [];
    for (let at = 0; at < Math.max(old.length, fresh.length); at += 1)
      lines.push(changedLine(old[at], fresh[at]));
  }
  return lines;
}

/** Texts that take too long to compare: each line of both as a changed one. */
function wholly(before: string[], after: string[]): DiffLine[] {
  const longer = before.length > after.length ? before : after;
  return longer.map((_, n) => ({ kind: "changed", before: whole(before[n]), after: whole(after[n]) }));
}

const whole = (text: string | undefined) => (text === undefined ? null : [{ text, isChanged: false }]);

function changedLine(before: string | undefined, after: string | undefined): DiffLine {
  const isComparable =
    before !== undefined && after !== undefined && before.length + after.length < MAX_WORDS_CHARACTERS;
  if (!isComparable) return { kind: "changed", before: whole(before), after: whole(after) };
  const words = diffWordsWithSpace(before, after);
  const side = (other: "added" | "removed", own: "added" | "removed") =>
    words.filter((word) => !word[other]).map((word) => ({ text: word.value, isChanged: word[own] === true }));
  return { kind: "changed", before: side("added", "removed"), after: side("removed", "added") };
}

function splitLines(text: string): string[] {
  return text.replace(/\n$/, "").split("\n");
}
