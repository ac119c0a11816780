import { setImmediate } from "node:timers/promises";
import { type PricedModel, priceBy, priceOf, type TokenPrice } from "./prices.ts";
import type { SomeTokenParts, TokenParts } from "./tokenParts.ts";
import { countTokens, encodingOf } from "./tokens.ts";

export { type PricedModel, rounded, type TokenPrice } from "./prices.ts";

/** One call of a model: what went in and came out, what its caller reported about it, and when it happened. */
export interface MeasuredCall extends SomeTokenParts {
  model: PricedModel | null;
  /** Null when its tokens are not to be counted, and so is the output. */
  input: unknown;
  output: unknown;
  /** In US dollars. */
  cost?: number | null;
  at: Date;
  /** Finds a price that wins over the list's; called only when a cost is to be computed. */
  findOwnPrice?: FindOwnPrice;
}

export type FindOwnPrice = (model: PricedModel, at: Date) => Promise<TokenPrice | null>;

/** Token counts, null where there was nothing to count, and the cost in US dollars, null if and only if it is UNPRICED. */
export interface Usage extends TokenParts {
  cost: number | null;
  costSource: "REPORTED" | "COMPUTED" | "UNPRICED";
}

/**
 * Completes what the caller reported about a call. A reported number always wins, 0 included. A missing token count
 * is counted from the text of its field (JSON other than a string: as compact JSON) with the model's tokenizer; an
 * absent field (null or undefined) has no count. A missing cost is computed from both counts and the price at the time
 * of the call: the workspace's own, else that of the list. Rejects if the counting thread fails.
 */
export async function measureUsage(workspaceId: string, call: MeasuredCall): Promise<Usage> {
  const counts = reportedCounts(call) ?? (await countMissing(workspaceId, call));
  if (isReported(call.cost)) return { ...counts, cost: call.cost, costSource: "REPORTED" };
  const cost = await computeCost(call, counts);
  return { ...counts, cost, costSource: cost === null ? "UNPRICED" : "COMPUTED" };
}

function reportedCounts(call: MeasuredCall): TokenParts | undefined {
  const { inputTokens, outputTokens } = call;
  return isReported(inputTokens) && isReported(outputTokens)
    ? { ...partsOf(call), inputTokens, outputTokens }
    : undefined;
}

/** The parts that no text can be counted for. */
function partsOf({ cacheReadTokens = null, cacheWriteTokens = null, reasoningTokens = null }: MeasuredCall) {
  return { cacheReadTokens, cacheWriteTokens, reasoningTokens };
}

async function countMissing(workspaceId: string, call: MeasuredCall): Promise<TokenParts> {
  const encoding = encodingOf(call.model?.model ?? null);
  const count = async (field: unknown) => {
    if (field === null || field === undefined) return null;
    if (typeof field === "string") return countTokens(workspaceId, { text: field, encoding });
    await setImmediate(); // a large value was just parsed and checked; writing it as text takes a turn of its own
    return countTokens(workspaceId, { text: JSON.stringify(field), encoding });
  };
  const [inputTokens, outputTokens] = await Promise.all([
    call.inputTokens ?? count(call.input),
    call.outputTokens ?? count(call.output),
  ]);
  return { ...partsOf(call), inputTokens, outputTokens };
}

async function computeCost(call: MeasuredCall, counts: TokenParts): Promise<number | null> {
  const { model, at } = call;
  const { inputTokens, outputTokens } = counts;
  if (model === null || inputTokens === null || outputTokens === null) return null;
  const priced = { ...counts, model, inputTokens, outputTokens, at };
  const ownPrice = await call.findOwnPrice?.(model, at);
  return ownPrice ? priceBy(ownPrice, priced) : priceOf(priced);
}

function isReported(value: number | null | undefined): value is number {
  return value !== null && value !== undefined;
}
