import { z } from "zod";
import { text } from "./text.ts";

/** Each entry of a list that is examined is compared with all of them. */
export const MAX_FILTER_VALUES = 200;

/** A list, or a single value, which GraphQL takes for a list of one. */
export const anyOf = <Item extends z.ZodType>(item: Item) =>
  z.preprocess((value) => (value == null || Array.isArray(value) ? value : [value]), z.array(item).nullish());

/** SQLite copies the values that it compares with, for each row: a thousand logs and three values of 3 MB took a second. */
const MAX_VALUE_CHARACTERS = 4_096;

/** The bounds of a filter, for its description. */
export const FILTER_BOUNDS = `A filter has at most ${MAX_FILTER_VALUES} values and conditions together, and a text in it at most ${MAX_VALUE_CHARACTERS.toLocaleString("en")} characters.`;

/** A text that a filter looks for. */
export const soughtText = () => text().max(MAX_VALUE_CHARACTERS); // a union would say nothing of an error that ends the checks

/** Texts of which one is looked for. */
export const soughtTexts = () => anyOf(soughtText());

/** How conditions are combined with others of their kind. */
export interface Combinations<Conditions> {
  and?: Combined<Conditions>[] | null | undefined;
  or?: Combined<Conditions>[] | null | undefined;
  not?: Combined<Conditions> | null | undefined;
}
export type Combined<Conditions> = Conditions & Combinations<Conditions>;

type Flat<Shape extends z.ZodRawShape> = z.output<z.ZodObject<Shape>>;
type CombiningShape<Shape extends z.ZodRawShape> = {
  [Name in "and" | "or" | "not"]: z.ZodType<Combined<Flat<Shape>>[Name]>;
};

/** The input of conditions, all of which hold, with `and`, `or` and `not`. */
export function conditionsWith<Shape extends z.ZodRawShape>(
  shape: Shape,
  { description, such }: { description: string; such: string },
): z.ZodObject<Shape & CombiningShape<Shape>> {
  const condition: z.ZodType<Combined<Flat<Shape>>> = z.object({
    ...shape,
    get and() {
      return z.array(condition).nullish().describe("All of these hold.");
    },
    get or() {
      return z.array(condition).nullish().describe("One of these holds; none does when the list is empty.");
    },
    get not() {
      return condition.nullish().describe(`This does not hold, or cannot be said, such as ${such}.`);
    },
  }) as never; // the type of a schema that refers to itself cannot be inferred
  // Not by its method, which would return another object than the one that the conditions refer to.
  z.globalRegistry.add(condition, { description });
  return condition as never;
}

/** A filter for callers: one with too many values is refused before it is validated, which could take long. */
export const boundedFilter = <Filter extends z.ZodType>(filter: Filter) =>
  z.preprocess((value, context) => {
    if (countValues(value) <= MAX_FILTER_VALUES) return value;
    context.addIssue({
      code: "custom",
      message: `must have at most ${MAX_FILTER_VALUES} values and conditions together`,
    });
    return z.NEVER;
  }, filter.nullish());

/** How many values a filter has at any depth, each list and object counted as one more; stops counting beyond the limit. */
function countValues(filter: unknown): number {
  const rest: unknown[] = [filter];
  let count = 0;
  while (rest.length > 0 && count <= MAX_FILTER_VALUES) {
    const value = rest.pop();
    count += 1;
    if (typeof value !== "object" || value === null) continue;
    const members = Array.isArray(value) ? value : Object.values(value);
    rest.push(...members.slice(0, MAX_FILTER_VALUES + 1));
  }
  return count + rest.length;
}
