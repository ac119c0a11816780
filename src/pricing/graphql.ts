import { argumentsOf, builder } from "../graphql/builder.ts";
import { type Repricing, repriceLogs } from "../logs/reprice.resolvers.ts";
import { deleteModelPriceInput, modelPricesInput, repriceLogsInput, setModelPriceInput } from "./inputs.ts";
import { deleteModelPrice, modelPrices, type OwnPrice, setModelPrice } from "./resolvers.ts";

const ModelPrice = builder.objectRef<OwnPrice>("ModelPrice").implement({
  description:
    "The workspace's own price of a model, in US dollars per million tokens. It wins over the price that the service knows.",
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID. Pages continue after it." }),
    model: t.exposeString("model", { description: "The name of the model, in lower case." }),
    provider: t.exposeString("provider", {
      nullable: true,
      description:
        "Who serves it, in lower case; null for every provider for which the model has no price of its own.",
    }),
    inputPrice: t.exposeFloat("inputPrice", { description: "US dollars per million tokens of input." }),
    outputPrice: t.exposeFloat("outputPrice", { description: "US dollars per million tokens of output." }),
    validFrom: t.expose("validFrom", {
      type: "DateTime",
      nullable: true,
      description:
        "From when on it holds, until the next price of the same model and provider; null when it has always held.",
    }),
    createdAt: t.expose("createdAt", { type: "DateTime", description: "When it was added." }),
  }),
});

const RepriceLogsPayload = builder.objectRef<Repricing>("RepriceLogsPayload").implement({
  description: "What computing costs again changed, or would change.",
  fields: (t) => ({
    examined: t.exposeInt("examined", {
      description:
        "How many logs were computed again: those of the time that have a model, both counts of tokens and no reported cost.",
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

builder.queryField("modelPrices", (t) =>
  t.field({
    type: [ModelPrice],
    description: "The workspace's own prices, the latest added first, a page at a time.",
    args: argumentsOf(t, modelPricesInput, {
      after: t.arg.id({ description: modelPricesInput.shape.after.description }),
    }),
    resolve: (_, args, context) => modelPrices(context, args),
  }),
);

const priceFields = setModelPriceInput.shape;

builder.mutationFields((t) => ({
  setModelPrice: t.field({
    type: ModelPrice,
    description:
      "Sets the workspace's own price of a model, which wins over the one that the service knows; one for the same model, provider and time is replaced. What is logged already keeps its cost until `repriceLogs`. Needs the scope `admin`.",
    args: argumentsOf(t, setModelPriceInput, {
      inputPrice: t.arg.float({ required: true, description: priceFields.inputPrice.description }),
      outputPrice: t.arg.float({ required: true, description: priceFields.outputPrice.description }),
      validFrom: t.arg({ type: "DateTime", description: priceFields.validFrom.description }),
    }),
    resolve: (_, { validFrom = null, ...args }, context) => setModelPrice(context, { ...args, validFrom }),
  }),
  deleteModelPrice: t.id({
    description:
      "Removes a price and gives its id; an error `PRICE_NOT_FOUND` when there is none with that id. What is logged already keeps its cost until `repriceLogs`. Needs the scope `admin`.",
    args: argumentsOf(t, deleteModelPriceInput, {
      id: t.arg.id({ required: true, description: deleteModelPriceInput.shape.id.description }),
    }),
    resolve: (_, args, context) => deleteModelPrice(context, args),
  }),
  repriceLogs: t.field({
    type: RepriceLogsPayload,
    description:
      "Computes costs again by the prices as they are now, each at the time of its call, and tells what changed. Costs that a caller reported stay. Needs the scope `admin`.",
    args: argumentsOf(t, repriceLogsInput, {
      from: t.arg({ type: "DateTime", required: true, description: repriceLogsInput.shape.from.description }),
      to: t.arg({ type: "DateTime", required: true, description: repriceLogsInput.shape.to.description }),
    }),
    resolve: (_, args, context) => repriceLogs(context, args),
  }),
}));
