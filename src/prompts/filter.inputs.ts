import type { z } from "zod";
import { anyOf, conditionsWith, MAX_FILTER_VALUES } from "../validation/filters.ts";
import { text } from "../validation/text.ts";

export const promptFilter = conditionsWith(
  {
    slug: anyOf(text()).describe("The prompt has one of these slugs."),
    featureSlug: anyOf(text()).describe("The prompt belongs to one of these features."),
  },
  {
    description: `Selects the prompts that meet all of these conditions. A filter has at most ${MAX_FILTER_VALUES} values and conditions together.`,
    such: "of the feature of a prompt that belongs to none",
  },
);
export type PromptFilter = z.output<typeof promptFilter>;
