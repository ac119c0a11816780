import { z } from "zod";
import { MAX_ERRORS } from "./messages.ts";
import { always, onlyOfItsType } from "./typeFirst.ts";

/** A list that can be bounded. */
const arrayOf = <Item extends z.ZodType>(item: Item) => z.array(item).refine(always, onlyOfItsType);

/**
 * A list of at most `maxItems` items; a longer one is refused before its items are validated, which could take long. Items are
 * validated up to the errors that an answer has: zod makes all of them, and 100,000 took 0.3 s.
 */
export const list = <Item extends z.ZodType>(item: Item, maxItems: number) => {
  const items = arrayOf(item).max(maxItems);
  const { $schema: _, ...schema } = z.toJSONSchema(items, { io: "input", unrepresentable: "any" });
  const validate = (value: unknown, context: z.RefinementCtx): z.output<Item>[] => {
    // As they are, since what reads them asks for more than their messages; what is checked after them is not reached.
    const add = (issue: z.core.$ZodIssue) =>
      context.addIssue({ ...issue, continue: false } as z.core.$ZodRawIssue); // zod adds the input, which the type demands
    if (!Array.isArray(value)) {
      for (const issue of items.safeParse(value).error!.issues) add(issue);
      return z.NEVER;
    }
    if (value.length > maxItems) {
      add({ code: "custom", message: `must have at most ${maxItems} items`, path: [] });
      return z.NEVER;
    }
    const validated: z.output<Item>[] = [];
    let errors = 0;
    for (const [at, each] of value.entries()) {
      const { data, error } = item.safeParse(each);
      if (!error) validated.push(data);
      for (const issue of error?.issues ?? []) add({ ...issue, path: [at, ...issue.path] });
      errors += error?.issues.length ?? 0;
      if (errors >= MAX_ERRORS) break;
    }
    return errors === 0 ? validated : z.NEVER;
  };
  return z.unknown().transform(validate).meta(schema);
};
