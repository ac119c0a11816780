import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { timestamp } from "../database/columnTypes.ts";
import { Workspace } from "../workspaces/entities.ts";

/**
 * A workspace's own price of a model, in US dollars per million tokens, for calls from a time on until the next such
 * time. Without a provider it holds for the model of that name wherever it is served.
 */
export const ModelPrice = defineEntity({
  name: "ModelPrice",
  tableName: "model_prices",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    model: p.text(),
    /** The empty string is any provider: as null it would not keep a price unique. */
    provider: p.text(),
    validFrom: timestamp(),
    inputPrice: p.double().$type<number>(),
    outputPrice: p.double().$type<number>(),
    createdAt: timestamp(),
  },
  uniques: [{ properties: ["workspace", "model", "provider", "validFrom"] }],
});
export type ModelPrice = InferEntity<typeof ModelPrice>;
