import { setImmediate } from "node:timers/promises";
import { piecesOf } from "./pieces.ts";

export type Encoding = "o200k_base" | "o200k_harmony" | "cl100k_base" | "p50k_base" | "r50k_base";

export interface EncodedText {
  text: string;
  encoding: Encoding;
}

const SLICE_MS = 4;

/** Runs in the counting thread: the tokens of each text. Between slices of a few milliseconds other messages run. */
export async function countTexts(texts: EncodedText[]): Promise<number[]> {
  const counts: number[] = [];
  let sliceEndMs = performance.now() + SLICE_MS;
  for (const { text, encoding } of texts) {
    counters[encoding] ??= openCounter(encoding);
    const count = await counters[encoding];
    let tokens = 0;
    for (const piece of piecesOf(text)) {
      if (performance.now() > sliceEndMs) {
        await setImmediate();
        sliceEndMs = performance.now() + SLICE_MS;
      }
      tokens += count(piece);
    }
    counts.push(tokens);
  }
  return counts;
}

type Counter = (piece: string) => number;
const counters: Partial<Record<Encoding, Promise<Counter>>> = {};

// Up to 70 MB each, so loaded at the first use. Harmony is o200k_base with other special tokens, and texts hold none.
const tables = {
  o200k_base: () => import("gpt-tokenizer/encoding/o200k_base"),
  o200k_harmony: () => import("gpt-tokenizer/encoding/o200k_base"),
  cl100k_base: () => import("gpt-tokenizer/encoding/cl100k_base"),
  p50k_base: () => import("gpt-tokenizer/encoding/p50k_base"),
  r50k_base: () => import("gpt-tokenizer/encoding/r50k_base"),
};

const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };
// The library caches 100,000 rare words of two or more characters. We clear its cache before it is full: evicting words
// one by one takes quadratic time, 90 seconds for a megabyte of accents.
const CACHED_CHARS = 200_000;

async function openCounter(encoding: Encoding): Promise<Counter> {
  const { countTokens, clearMergeCache } = await tables[encoding]();
  let cachedChars = 0;
  return (piece) => {
    cachedChars += piece.length;
    if (cachedChars > CACHED_CHARS) {
      clearMergeCache();
      cachedChars = piece.length;
    }
    return countTokens(piece, PLAIN_TEXT);
  };
}
