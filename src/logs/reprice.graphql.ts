import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { payloadType } from "../graphql/payloads.ts";
import { repriceLogsArguments, repriceLogsInput } from "./reprice.inputs.ts";
import { type Repricing, repriceLogs } from "./reprice.resolvers.ts";

const RepriceLogsPayload = payloadType<Repricing>("RepriceLogsPayload", {
  description: "What repricing changed, or would change.",
  fields: (t) => ({
    examined: t.exposeInt("examined", {
      description:
        "How many logs were computed again: those of the period with a model, both counts of tokens and no reported cost.",
    }),
    changed: t.exposeInt("changed", { description: "How many of them have another cost now." }),
    priced: t.exposeInt("priced", { description: "How many of them were unpriced and have a cost now." }),
    unpriced: t.exposeInt("unpriced", { description: "How many of them had a cost and are unpriced now." }),
    costBefore: t.exposeFloat("costBefore", {
      description: "What all of them cost before, in US dollars; unpriced ones count as 0.",
    }),
    costAfter: t.exposeFloat("costAfter", {
      description: "What all of them cost now, in US dollars; unpriced ones count as 0.",
    }),
    dryRun: t.exposeBoolean("dryRun", { description: "Whether nothing was stored." }),
  }),
});

const RepriceLogsInput = inputTypeOf("RepriceLogsInput", repriceLogsInput, {
  from: "DateTime!",
  to: "DateTime!",
});

builder.mutationField("repriceLogs", (t) =>
  t.field({
    type: RepriceLogsPayload,
    description:
      "Computes costs again by the prices as they are now, each at the time of its call, and reports what changed. Costs that a caller reported stay. Needs the scope `admin`.",
    args: argumentsOf(t, repriceLogsArguments, { input: RepriceLogsInput }),
    resolve: (_, { input }, context) => repriceLogs(context, input),
  }),
);
