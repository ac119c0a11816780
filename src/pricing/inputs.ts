import { z } from "zod";
import { optionalTimestamp } from "../validation/dateTime.ts";
import { idPage } from "../validation/pagination.ts";
import { idOf, text } from "../validation/text.ts";

const MAX_NAME_CHARACTERS = 256;
export const MAX_PAGE = 1_000;
const MAX_DOLLARS = 1_000_000;

/** The form in which the names of prices are stored and looked up: clients write one model in different cases. */
export function normalizeName(name: string): string {
  return name.trim().toLowerCase();
}

const name = () => text(MAX_NAME_CHARACTERS).overwrite(normalizeName).max(MAX_NAME_CHARACTERS);
const price = () => z.number().min(0).max(MAX_DOLLARS);
const id = () => idOf("a price");

export const modelPricesInput = z.object({
  model: name()
    .nullish()
    .describe(
      "Only those of the model with this name, in any case. Without it, one page can have all prices of a workspace.",
    ),
  ...idPage({ max: MAX_PAGE }),
});

export const setModelPriceInput = z
  .object({
    model: name()
      .min(1)
      .describe(
        "The whole name of the model as prompt versions have it, such as `gpt-4o-mini`, in any case.",
      ),
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
  })
  .describe("A price to set.");
export const setModelPriceArguments = z.object({ input: setModelPriceInput });
export type SetModelPriceInput = z.output<typeof setModelPriceInput>;

export const deleteModelPriceInput = z.object({ id: id().describe("The id of the price.") });
