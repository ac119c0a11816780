import type { Rejection } from "./decoded.ts";

/** Different sentences of one answer, so that its message stays short. */
const MAX_SENTENCES = 20;
const MAX_SENTENCE_CHARACTERS = 300;

/** Collects what an answer says of spans or log records; equal sentences are counted. */
export function createNotes(what: "span" | "log record" = "span") {
  const rejections = createSentences();
  const warnings = createSentences();
  let rejected = 0;
  return {
    reject: ({ index, reason }: Rejection): void => {
      rejected += 1;
      rejections.add(reason, `${what} ${index} ${reason}`);
    },
    warn: (warning: string, index?: number): void =>
      warnings.add(warning, index === undefined ? warning : `${what} ${index}: ${warning}`),
    rejected: (): number => rejected,
    /** Why something was rejected, without what differs between requests; empty when nothing was. */
    reason: (): string =>
      rejections.isEmpty() ? "" : `Rejected because a ${what} ${rejections.keys().join(", or ")}.`,
    /** All of it, for a person; empty when there is nothing to say. */
    message: (total: number): string =>
      [
        rejected > 0 && `${rejected} of ${total} ${what}s were rejected: ${rejections.text()}.`,
        warnings.isEmpty() || `Stored with warnings: ${warnings.text()}.`,
      ]
        .filter((part) => typeof part === "string")
        .join(" "),
  };
}

export type Notes = ReturnType<typeof createNotes>;

function createSentences() {
  const sentences = new Map<string, { text: string; count: number }>();
  let others = 0;
  return {
    add: (key: string, text: string): void => {
      const known = sentences.get(key);
      if (known) known.count += 1;
      else if (sentences.size < MAX_SENTENCES)
        sentences.set(key, { text: text.slice(0, MAX_SENTENCE_CHARACTERS).replace(/\.$/, ""), count: 1 });
      else others += 1;
    },
    keys: (): string[] => [...sentences.keys()].toSorted(),
    isEmpty: (): boolean => sentences.size === 0,
    text: (): string => {
      const texts = [...sentences.values()].map(({ text, count }) =>
        count > 1 ? `${text} (and ${count - 1} more)` : text,
      );
      return [...texts, ...(others > 0 ? [`${others} more for other reasons`] : [])].join("; ");
    },
  };
}
