import { wordsIn } from "../../src/limits/words.ts";

export const SLUGS = Array.from({ length: 12 }, (_, n) => `prompt-${n}`);
export const USERS = 400;
const ORGANIZATIONS = 25;
const VERSIONS = ["1.0.0", "1.1.0", "2.0.0"];
const MODELS = [
  { provider: "openai", model: "gpt-4o-mini", price: 0.3 },
  { provider: "openai", model: "gpt-4o", price: 5 },
  { provider: "anthropic", model: "claude-sonnet-4-0", price: 6 },
  { provider: "google", model: "gemini-2.5-flash", price: 1 },
];
const REGIONS = ["eu", "us", "apac"];
const WORDS = 40_000;
const SENTENCES = 30_000;
const CHARACTERS_IN_A_TOKEN = 4.4;

export interface GeneratedLog {
  input: string;
  output: string;
  /** The words of both, as the program keeps them for its full-text index. */
  body: string;
  slug: string;
  version: string;
  model: (typeof MODELS)[number];
  user: string;
  organization: string | null;
  metadata: string;
  latencyMs: number;
  inputTokens: number;
  outputTokens: number;
  cost: number;
}

/** Numbers from 0 to 1 that look like chance and are the same at every run (mulberry32). */
export function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The nth word of the made-up language; the first are said the most. */
export function wordOf(n: number): string {
  const syllables = "ba ce di fo gu la me ni po ru sa te vi zo ka".split(" ");
  let word = "";
  for (let rest = n + 15; rest > 0; rest = Math.floor(rest / 15)) word += syllables[rest % 15];
  return word;
}

/** Makes logs as teams have them: few prompts, models and users make most of them, in texts of 0.4 to 1.2 kB together. */
export function createGenerator(seed: number) {
  const chance = chances(seed);
  const below = (end: number, skew = 1) => Math.floor(end * chance() ** skew);
  const sentences = Array.from({ length: SENTENCES }, () => {
    const words = Array.from({ length: 8 + below(7) }, () => wordOf(below(WORDS, 3)));
    const text = `${words.join(" ")}.`;
    return { text, words: wordsIn(text).join(" ") };
  });
  const passage = (count: number) => Array.from({ length: count }, () => sentences[below(SENTENCES)]!);
  const textOf = (parts: { text: string }[]) => parts.map(({ text }) => text).join(" ");
  const wordsOf = (parts: { words: string }[]) => parts.map(({ words }) => words).join(" ");
  return (n: number): GeneratedLog => {
    const [asked, answered] = [passage(2 + below(5)), passage(3 + below(6))];
    const order = `order ${orderOf(n)}`;
    const input = `${order} ${textOf(asked)}`;
    const output = textOf(answered);
    const user = below(USERS, 2);
    const model = MODELS[below(MODELS.length, 2)]!;
    const [inputTokens, outputTokens] = [input, output].map((text) =>
      Math.round(text.length / CHARACTERS_IN_A_TOKEN),
    ) as [number, number];
    return {
      ...{ input, output, body: `+ ${order} ${wordsOf(asked)} | ${wordsOf(answered)} ` },
      slug: SLUGS[below(SLUGS.length, 2)]!,
      version: VERSIONS[below(VERSIONS.length)]!,
      ...{ model, user: `user-${user}`, inputTokens, outputTokens },
      organization: user % 4 === 3 ? null : `organization-${user % ORGANIZATIONS}`,
      metadata: `{"region":"${REGIONS[below(3)]}","attempt":${1 + below(3, 4)},"session":"s${below(100_000)}"}`,
      latencyMs: Math.round(400 * Math.exp(1.2 * (chance() + chance() + chance() - 1.5))),
      cost: ((inputTokens + outputTokens) * model.price) / 1e6,
    };
  };
}

/** A word that only the nth log has. */
export function orderOf(n: number): string {
  return `o${n}x`;
}

/**
 * How many logs each workspace has: by Zipf's law with 0.9, so that the first of a thousand has about a tenth. With
 * `probe` the one in the middle has exactly that many, and the others share the rest.
 */
export function sizesOf(logs: number, workspaces: number, probe?: number): number[] {
  const middle = Math.floor(workspaces / 2);
  const weights = Array.from({ length: workspaces }, (_, at) =>
    at === middle && probe ? 0 : (at + 1) ** -0.9,
  );
  const rest = logs - (probe ?? 0);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const sizes = weights.map((weight) => Math.floor((rest * weight) / total));
  if (probe) sizes[middle] = probe;
  sizes[0]! += logs - sizes.reduce((sum, size) => sum + size, 0);
  return sizes;
}

/** To which workspace each log belongs, in the order of their times: shuffled. */
export function ownersOf(sizes: number[], seed: number): Uint16Array {
  const owners = new Uint16Array(sizes.reduce((sum, size) => sum + size, 0));
  let at = 0;
  for (const [workspace, size] of sizes.entries()) {
    owners.fill(workspace, at, at + size);
    at += size;
  }
  const chance = chances(seed);
  for (let last = owners.length - 1; last > 0; last--) {
    const other = Math.floor(chance() * (last + 1));
    const held = owners[last]!;
    owners[last] = owners[other]!;
    owners[other] = held;
  }
  return owners;
}
