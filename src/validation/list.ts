import { z } from "zod";
import "./messages.ts";
import { always, onlyOfItsType } from "./typeFirst.ts";

/** A list that can be bounded. */
const arrayOf = <Item extends z.ZodType>(item: Item) => z.array(item).refine(always, onlyOfItsType);

/** A list of at most `maxItems` items; a longer one is refused before its items are validated, which could take long. */
export const list = <Item extends z.ZodType>(item: Item, maxItems: number) => {
  const items = arrayOf(item).max(maxItems);
  const { $schema: _, ...schema } = z.toJSONSchema(items, { io: "input", unrepresentable: "any" });
  const refuseLong = (value: unknown, context: z.RefinementCtx) => {
    if (!Array.isArray(value) || value.length <= maxItems) return value;
    context.addIssue({ code: "custom", message: `must have at most ${maxItems} items` });
    return z.NEVER;
  };
  return z.preprocess(refuseLong, items).meta(schema);
};
