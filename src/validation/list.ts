import { z } from "zod";
import "./messages.ts";
import { always, onlyOfItsType } from "./typeFirst.ts";

/** A list of anything, which may be given bounds. */
const arrayOf = <Item extends z.ZodType>(item: Item) => z.array(item).refine(always, onlyOfItsType);

/** A list of at most `most` items; a longer one is refused before its items are looked at, which could take long. */
export const list = <Item extends z.ZodType>(item: Item, most: number) => {
  const items = arrayOf(item).max(most);
  const { $schema: _, ...schema } = z.toJSONSchema(items, { io: "input", unrepresentable: "any" });
  const refuseLong = (value: unknown, context: z.RefinementCtx) => {
    if (!Array.isArray(value) || value.length <= most) return value;
    context.addIssue({ code: "custom", message: `must have at most ${most} items` });
    return z.NEVER;
  };
  return z.preprocess(refuseLong, items).meta(schema);
};
