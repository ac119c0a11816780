import type { CostSource } from "../gql/graphql.ts";

/** Where a cost comes from, in words. */
export const costSources: Record<CostSource, string> = {
  COMPUTED: "from its tokens and the price at its time",
  REPORTED: "as reported",
  UNPRICED: "no price is known",
  NONE: "not a call of a model",
};
