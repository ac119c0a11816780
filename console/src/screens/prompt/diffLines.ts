import { diffLines, diffWordsWithSpace } from "diff";
import type { Version } from "./queries.ts";

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
  const changes = diffLines(before, after, { timeout: 2_000 });
  if (!changes) return splitLines(before).map((text) => ({ kind: "same", text }));
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

function changedLine(before: string | undefined, after: string | undefined): DiffLine {
  const whole = (text: string | undefined) => (text === undefined ? null : [{ text, isChanged: false }]);
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

/** A version as one text: everything that can differ. */
export function textOf({ systemText, text, messages, model, variables }: Version): string {
  const parts = messages
    ? messages.map(({ role, name, content, placeholder }) =>
        placeholder
          ? `— messages “${placeholder}” —`
          : `— ${[role, name].filter(Boolean).join(" · ")} —\n${content}`,
      )
    : [...(systemText ? [`— system —\n${systemText}`] : []), `— text —\n${text}`];
  const modelText =
    model &&
    `— model —\n${[model.provider, model.model].filter(Boolean).join(" / ")}\n${JSON.stringify(model.parameters, null, 2)}`;
  const variableText = variables.map(
    ({ label, type, description }) => `${label}: ${type}${description ? ` (${description})` : ""}`,
  );
  return [...parts, ...(modelText ? [modelText] : []), `— variables —\n${variableText.join("\n")}`].join(
    "\n\n",
  );
}
