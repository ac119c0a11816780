import { argumentsOf, builder, inputTypeOf } from "../graphql/builder.ts";
import { connect, connectionType, PIECE_SIZE } from "../graphql/connections.ts";
import { findsNode, Node } from "../graphql/nodes.ts";
import { deletionType, payloadType } from "../graphql/payloads.ts";
import {
  deleteModelPriceInput,
  MAX_PAGE,
  modelPricesInput,
  setModelPriceArguments,
  setModelPriceInput,
} from "./inputs.ts";
import { deleteModelPrice, findModelPrice, modelPrices, type OwnPrice, setModelPrice } from "./resolvers.ts";

const ModelPrice = builder.objectRef<OwnPrice>("ModelPrice").implement({
  description:
    "The workspace's own price of a model, in US dollars per million tokens. It wins over the built-in price list.",
  interfaces: [Node],
  fields: (t) => ({
    id: t.exposeID("id", { description: "The id, a UUID." }),
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

findsNode(ModelPrice, "read", { find: findModelPrice });

builder.queryField("modelPrices", (t) =>
  t.field({
    type: connectionType(ModelPrice, "prices"),
    description: "The workspace's own prices, the latest added first.",
    args: argumentsOf(t, modelPricesInput),
    extensions: { maxPageEntries: MAX_PAGE },
    resolve: (_, { model, ...args }, context) =>
      connect(context, args, {
        read: (page) => modelPrices(context, { model, ...page }),
        key: ({ id }) => id,
        pieceSize: PIECE_SIZE,
      }),
  }),
);

const SetModelPricePayload = payloadType<{ modelPrice: OwnPrice }>("SetModelPricePayload", {
  description: "The price that was set.",
  fields: (t) => ({
    modelPrice: t.expose("modelPrice", { type: ModelPrice, description: "The price as it was stored." }),
  }),
});

const SetModelPriceInput = inputTypeOf("SetModelPriceInput", setModelPriceInput, { validFrom: "DateTime" });

builder.mutationFields((t) => ({
  setModelPrice: t.field({
    type: SetModelPricePayload,
    description:
      "Sets the workspace's own price of a model, which wins over the built-in price list; a price for the same model, provider and time is replaced. What is logged already keeps its cost until `repriceLogs`. Needs the scope `admin`.",
    args: argumentsOf(t, setModelPriceArguments, { input: SetModelPriceInput }),
    resolve: async (_, { input: { validFrom = null, ...input } }, context) => ({
      modelPrice: await setModelPrice(context, { ...input, validFrom }),
    }),
  }),
  deleteModelPrice: t.field({
    type: deletionType("ModelPrice", "price"),
    description:
      "Removes a price; an error `PRICE_NOT_FOUND` when there is none with that id. What is logged already keeps its cost until `repriceLogs`. Needs the scope `admin`.",
    args: argumentsOf(t, deleteModelPriceInput, { id: "ID" }),
    resolve: async (_, args, context) => ({ id: await deleteModelPrice(context, args) }),
  }),
}));
