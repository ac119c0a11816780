import type { PriceCalculation, Provider } from "@pydantic/genai-prices";

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

export interface PricedCall {
  model: PricedModel;
  inputTokens: number;
  outputTokens: number;
  at: Date;
}

/**
 * The price of a call in US dollars at the time it happened, rounded to 12 decimal places; null if the model has no
 * known price. The figures come from the list inside `@pydantic/genai-prices`, which never asks the network. A
 * provider the list does not know is ignored: the model's name alone decides then.
 */
export async function priceOf(call: PricedCall): Promise<number | null> {
  // Loaded with the first price: 20 MB that a server whose clients report their costs never needs.
  library ??= import("@pydantic/genai-prices");
  return priceFrom(await library, call);
}

/** The same for a price that is known already. */
export function priceBy({ inputPrice, outputPrice }: TokenPrice, call: PricedCall): number {
  return rounded((call.inputTokens * inputPrice + call.outputTokens * outputPrice) / 1_000_000);
}

/** To 12 decimal places: a fraction of what a single token costs, and free of what binary fractions add. */
export function rounded(dollars: number): number {
  return Number(dollars.toFixed(12));
}

type PriceLibrary = typeof import("@pydantic/genai-prices");
let library: Promise<PriceLibrary> | undefined;

function priceFrom({ calcPrice, findProvider }: PriceLibrary, call: PricedCall): number | null {
  const { provider, model } = call.model;
  const key = JSON.stringify([provider, model]);
  const found = foundModels.get(key);
  if (found === null) return null;
  try {
    const price = calcPrice(
      { input_tokens: call.inputTokens, output_tokens: call.outputTokens },
      model,
      found
        ? { provider: found, timestamp: call.at }
        : { providerId: providerIdOf(provider, findProvider), timestamp: call.at },
    );
    if (found === undefined) remember(key, price && narrowed(price));
    // The list also has models that are billed by the minute or the page, or have no price in it: 0 would be a claim.
    if (price?.model_price.input_mtok === undefined) return null;
    return rounded(price.total_price);
  } catch {
    return null; // It throws at what no price can be computed from: a negative count, an impossible date.
  }
}

/**
 * Which model is meant depends on the names alone, its price also on the time and the counts. So what is kept is a
 * provider with this one model: the library skips its search and still computes every price itself.
 */
const foundModels = new Map<string, Provider | null>();
const MAX_FOUND_MODELS = 1000;
const MAX_KEY_CHARS = 512;

function remember(key: string, provider: Provider | null): void {
  if (key.length > MAX_KEY_CHARS) return;
  if (foundModels.size >= MAX_FOUND_MODELS) foundModels.clear();
  foundModels.set(key, provider);
}

function narrowed({ provider: { id, name, api_pattern }, model }: PriceCalculation): Provider {
  return { id, name, api_pattern, models: [{ ...model, match: { contains: "" } }] };
}

function providerIdOf(name: string | null, findProvider: PriceLibrary["findProvider"]): string {
  const known = PROVIDERS.get((name ?? "").toLowerCase().replace(/[^a-z0-9]/g, "")) ?? name;
  // To the library "litellm" means: a provider before a slash in the model's name, else the model's name alone.
  return known && findProvider({ providerId: known }) ? known : "litellm";
}

/** Spellings of clients, without case and punctuation, which the library does not know or takes for another one. */
const PROVIDERS = new Map([
  ["azureai", "azure"],
  ["azureopenai", "azure"],
  ["novitaai", "novita"],
  ["openai", "openai"],
  ["openrouter", "openrouter"],
  ["perplexityai", "perplexity"],
  ["togetherai", "together"],
]);
