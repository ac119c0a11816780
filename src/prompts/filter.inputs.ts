import type { z } from "zod";
import { conditionsWith, FILTER_BOUNDS, soughtTexts } from "../validation/filters.ts";

export const promptFilter = conditionsWith(
  {
    slug: soughtTexts().describe("The prompt has one of these slugs."),
    featureSlug: soughtTexts().describe("The prompt belongs to one of these features."),
  },
  {
    description: `Selects the prompts that meet all of these conditions. ${FILTER_BOUNDS}`,
    such: "of the feature of a prompt that belongs to none",
  },
);
export type PromptFilter = z.output<typeof promptFilter>;
