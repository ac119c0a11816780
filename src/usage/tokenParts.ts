/** Tokens in disjoint parts: none is counted in two of them. Null is unknown. */
export interface TokenParts {
  /** Input that neither came from a cache nor was written to one. */
  inputTokens: number | null;
  cacheReadTokens: number | null;
  cacheWriteTokens: number | null;
  /** Output without reasoning. */
  outputTokens: number | null;
  reasoningTokens: number | null;
}

export const tokenParts = [
  "inputTokens",
  "cacheReadTokens",
  "cacheWriteTokens",
  "outputTokens",
  "reasoningTokens",
] as const satisfies (keyof TokenParts)[];

/** Parts as a row has them: those that are null may be absent. */
export type SomeTokenParts = { [Part in keyof TokenParts]?: TokenParts[Part] | undefined };

/** All tokens that went in, cached ones included; null when none is known. */
export function totalInput({
  inputTokens,
  cacheReadTokens,
  cacheWriteTokens,
}: SomeTokenParts): number | null {
  return sumOf([inputTokens, cacheReadTokens, cacheWriteTokens]);
}

/** All tokens that came out, reasoning included; null when none is known. */
export function totalOutput({ outputTokens, reasoningTokens }: SomeTokenParts): number | null {
  return sumOf([outputTokens, reasoningTokens]);
}

function sumOf(parts: (number | null | undefined)[]): number | null {
  let sum: number | null = null;
  for (const part of parts) if (part != null) sum = (sum ?? 0) + part;
  return sum;
}
