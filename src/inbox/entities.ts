import { defineEntity, type InferEntity, p } from "@mikro-orm/core";
import { timestamp } from "../database/columnTypes.ts";
import { Workspace } from "../workspaces/entities.ts";

/** What a client sent and Gabbro did not take. Kept for 7 days, so that somebody can find out why data is missing. */
export const RejectedItem = defineEntity({
  name: "RejectedItem",
  tableName: "rejected_items",
  properties: {
    id: p.uuid().primary(),
    workspace: () => p.manyToOne(Workspace).ref().index(false),
    createdAt: timestamp().index(),
    /** How many equal ones came within a minute; of those in answers that succeed in part, within a day. */
    count: p.integer(),
    endpoint: p.text(),
    code: p.text(),
    client: p.text().strictNullable(),
    reason: p.text(),
    /** How it began; null when it was rejected unread. */
    sample: p.text().strictNullable(),
  },
  indexes: [{ properties: ["workspace", "id"] }],
});
export type RejectedItem = InferEntity<typeof RejectedItem>;
