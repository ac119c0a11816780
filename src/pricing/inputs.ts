import { z } from "zod";
import { optionalTimestamp } from "../validation/dateTime.ts";
import { idOf, text } from "../validation/text.ts";

const LONGEST_NAME = 256;
const MOST_ON_A_PAGE = 1_000;
const MOST_DOLLARS = 1_000_000;

/** A name as prices are kept and looked up under it: clients write the same model in different cases. */
export function toPricedName(name: string): string {
  return name.trim().toLowerCase();
}

const name = () => text().overwrite(toPricedName).max(LONGEST_NAME);
const price = () => z.number().min(0).max(MOST_DOLLARS);
const id = () => idOf("a price");

export const modelPricesInput = z.object({
  model: name().nullish().describe("Only those of the model with this name, in any case."),
  first: z
    .int()
    .min(1)
    .max(MOST_ON_A_PAGE)
    .nullish()
    .describe("How many at most, up to 1,000; 50 when absent."),
  after: id().nullish().describe("Those after the one with this id, which must still be there."),
});
export type ModelPricesInput = z.output<typeof modelPricesInput>;

export const setModelPriceInput = z.object({
  model: name()
    .min(1)
    .describe("The whole name of the model as prompt versions have it, such as `gpt-4o-mini`, in any case."),
  provider: name()
    .nullish()
    .describe(
      "Who serves it, as prompt versions have it, in any case. When absent or empty the price holds for every provider that has none of its own.",
    ),
  inputPrice: price().describe("US dollars per million tokens of input, 0 to 1,000,000."),
  outputPrice: price().describe("US dollars per million tokens of output, 0 to 1,000,000."),
  validFrom: optionalTimestamp().describe(
    "From when on it holds, until the next price of the same model and provider, which may be there already. When absent it has always held.",
  ),
});
export type SetModelPriceInput = z.output<typeof setModelPriceInput>;

export const deleteModelPriceInput = z.object({ id: id().describe("The id of the price.") });
