import type { PriceCalculation, Provider } from "@pydantic/genai-prices";
import { type TokenParts, totalInput, totalOutput } from "./tokenParts.ts";

/** A model by its own name and that of its provider, both as the client writes them. */
export interface PricedModel {
  provider: string | null;
  model: string;
}

/** What a model's tokens cost, in US dollars per million of them. */
export interface TokenPrice {
  inputPrice: number;
  outputPrice: number;
}

export interface PricedCall extends TokenParts {
  model: PricedModel;
  inputTokens: number;
  outputTokens: number;
  at: Date;
}

/**
 * The price of a call in US dollars at the time it happened, rounded to 12 decimal places; null if the model has no
 * known price. The prices are those inside `@pydantic/genai-prices`, which makes no network requests. For an unknown
 * provider the model's name alone decides. A model or a provider whose name has more than 256 characters has none.
 */
export async function priceOf(call: PricedCall): Promise<number | null> {
  // Loaded with the first price: 20 MB that a server whose clients report their costs never needs.
  library ??= import("@pydantic/genai-prices");
  return priceFrom(await library, call);
}

/** The price of a call by a given price of its tokens, which holds for cached input and for reasoning, too. */
export function priceBy({ inputPrice, outputPrice }: TokenPrice, call: PricedCall): number {
  return rounded((totalInput(call)! * inputPrice + totalOutput(call)! * outputPrice) / 1_000_000);
}

/** Rounds to 12 decimal places: less than a single token costs, but more than the errors of binary fractions. */
export function rounded(dollars: number): number {
  return Number(dollars.toFixed(12));
}

type PriceLibrary = typeof import("@pydantic/genai-prices");
let library: Promise<PriceLibrary> | undefined;

function priceFrom({ calcPrice, findProvider }: PriceLibrary, call: PricedCall): number | null {
  const providerName = call.model.provider && inAscii(call.model.provider);
  const model = inAscii(call.model.model);
  if (Math.max(model.length, providerName?.length ?? 0) > MAX_NAME_CHARS) return null;
  const key = JSON.stringify([providerName, model]);
  const provider = modelCache.get(key);
  if (provider === null) return null;
  try {
    const price = calcPrice(
      toLibraryUsage(call),
      modelIdOf(providerName, model),
      provider
        ? { provider, timestamp: call.at }
        : { providerId: providerIdOf(providerName, findProvider), timestamp: call.at },
    );
    if (provider === undefined) cacheModel(key, price && toProvider(price));
    // Some models are billed by the minute or the page, or have no price in the list: 0 would be wrong.
    if (price?.model_price.input_mtok === undefined) return null;
    return rounded(price.total_price);
  } catch {
    return null; // it throws for a negative count or an impossible date
  }
}

/**
 * The library lower-cases a name for each of a thousand patterns, which are all in ASCII. 508 times "İ" took 12 ms, and the
 * 64 spans of a request that had such names kept others waiting for a second; 256 letters of ASCII take 0.3 ms.
 */
const inAscii = (name: string): string => name.replace(/[^\x20-\x7e]/g, "?");
/** An ARN of Bedrock has about 150. */
const MAX_NAME_CHARS = 256;

/** The library's totals include their parts; it charges a part without a price of its own as the rest. */
function toLibraryUsage(call: PricedCall) {
  const { cacheReadTokens, cacheWriteTokens } = call;
  return {
    input_tokens: totalInput(call)!,
    output_tokens: totalOutput(call)!,
    ...(cacheReadTokens !== null && { cache_read_tokens: cacheReadTokens }),
    ...(cacheWriteTokens !== null && { cache_write_tokens: cacheWriteTokens }),
  };
}

/**
 * Caches the model that the library finds for a pair of names; null when it finds none. The price also depends on the
 * time and the counts. So the cache holds providers of one model, with which the library computes prices without a search.
 */
const modelCache = new Map<string, Provider | null>();
const MAX_CACHED_MODELS = 1000;

function cacheModel(key: string, provider: Provider | null): void {
  if (modelCache.size >= MAX_CACHED_MODELS) modelCache.clear();
  modelCache.set(key, provider);
}

function toProvider({ provider: { id, name, api_pattern }, model }: PriceCalculation): Provider {
  return { id, name, api_pattern, models: [{ ...model, match: { contains: "" } }] };
}

function providerIdOf(name: string | null, findProvider: PriceLibrary["findProvider"]): string {
  const id = PROVIDERS.get((name ?? "").toLowerCase().replace(/[^a-z0-9]/g, "")) ?? name;
  // "litellm" has the library read a provider before a slash in the model's name, else the model's name alone.
  return id && findProvider({ providerId: id }) ? id : "litellm";
}

/**
 * The published clients leave `claude` out and put the version first, as in `3.5-sonnet` and `4.5-haiku`. Anthropic has put
 * the family first since version 4: `claude-3-5-sonnet`, but `claude-haiku-4-5`.
 */
function modelIdOf(provider: string | null, model: string): string {
  const [, major, minor, family] =
    (provider?.toLowerCase() === "anthropic" && /^(\d)(?:\.(\d))?-([a-z]+)$/.exec(model)) || [];
  if (!major || !family) return model;
  const version = minor ? `${major}-${minor}` : major;
  return Number(major) < 4 ? `claude-${version}-${family}` : `claude-${family}-${version}`;
}

/** Clients' spellings, without case and punctuation, that the library does not know or takes for another provider. */
const PROVIDERS = new Map([
  ["azureai", "azure"],
  ["azureopenai", "azure"],
  ["novitaai", "novita"],
  ["openai", "openai"],
  ["openrouter", "openrouter"],
  ["perplexityai", "perplexity"],
  ["togetherai", "together"],
]);
