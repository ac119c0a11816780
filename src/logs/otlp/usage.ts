import type { TokenParts } from "../reported.ts";
import { type Found, find, type Reading, readField } from "./reading.ts";
import { costField, tokenFields } from "./usageTable.ts";

/**
 * The tokens of a span in disjoint parts. By the conventions input includes what was read from and written to a cache, and
 * output includes reasoning. A sender whose parts exceed the whole means numbers that exclude each other: no count is
 * changed then, and a warning says what was assumed.
 */
export function readTokens(reading: Reading): TokenParts {
  const cacheRead = find(reading, tokenFields.cacheReadTokens);
  const cacheWrite = find(reading, tokenFields.cacheWriteTokens);
  const reasoning = find(reading, tokenFields.reasoningTokens);
  return {
    inputTokens: withoutParts(reading, find(reading, tokenFields.inputTokens), "input", [
      ["read from a cache", cacheRead],
      ["written to a cache", cacheWrite],
    ]),
    cacheReadTokens: cacheRead?.value ?? null,
    cacheWriteTokens: cacheWrite?.value ?? null,
    outputTokens: withoutParts(reading, find(reading, tokenFields.outputTokens), "output", [
      ["spent on reasoning", reasoning],
    ]),
    reasoningTokens: reasoning?.value ?? null,
  };
}

/** What the sender says that a call cost. Senders write 0 for "unknown", so that 0 beside known tokens is no cost. */
export function readCost(reading: Reading, tokens: TokenParts): number | null {
  const cost = readField(reading, costField);
  const hasTokens = Object.values(tokens).some((count) => count !== null && count > 0);
  return cost === 0 && hasTokens ? null : cost;
}

function withoutParts(
  { warnings }: Reading,
  whole: Found<number> | null,
  name: string,
  parts: [what: string, part: Found<number> | null][],
): number | null {
  if (whole === null) return null;
  if ("isDisjoint" in whole.source) return whole.value;
  const sum = parts.reduce((total, [, part]) => total + (part?.value ?? 0), 0);
  if (sum <= whole.value) return whole.value - sum;
  const counts = parts.flatMap(([what, part]) => (part ? [`${part.value} ${what}`] : []));
  warnings.add(
    `The span reports ${whole.value} ${name} tokens, but ${counts.join(" and ")}. ` +
      `Gabbro assumes that the ${name} tokens do not include those.`,
  );
  return whole.value;
}
