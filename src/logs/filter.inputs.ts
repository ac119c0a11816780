import { z } from "zod";
import { optionalTimestamp } from "../validation/dateTime.ts";
import { list } from "../validation/list.ts";
import { text } from "../validation/text.ts";
import { logStatuses, logTypes } from "./entities.ts";

const MAX_METADATA_MEMBERS = 10;
const MAX_SEARCH_CHARACTERS = 1_000;
/** Each log that is examined is compared with all of them. */
export const MAX_FILTER_VALUES = 200;

const amount = () => z.number().nullish();
/** A list, or a single value, which GraphQL takes for a list of one. */
const anyOf = <Item extends z.ZodType>(item: Item) =>
  z.preprocess((value) => (value == null || Array.isArray(value) ? value : [value]), z.array(item).nullish());

const conditions = {
  slug: anyOf(text()).describe("One of these slugs of prompts was logged, whether the prompts exist or not."),
  version: anyOf(text()).describe("One of these versions served."),
  tag: anyOf(text()).describe("The version was found by one of these tags."),
  userId: anyOf(text()).describe("The user has one of these ids, as the caller knows them."),
  organizationId: anyOf(text()).describe("The organization has one of these ids, as the caller knows them."),
  from: optionalTimestamp().describe("Calls that began then or later."),
  to: optionalTimestamp().describe("Calls that began before then."),
  type: anyOf(z.enum(logTypes)).describe("One of these kinds of steps."),
  model: anyOf(text()).describe("A model with one of these names answered."),
  status: anyOf(z.enum(logStatuses)).describe("They ended like one of these, as the client reported."),
  minCost: amount().describe("Calls that cost at least so much, in US dollars."),
  maxCost: amount().describe("Calls that cost at most so much, in US dollars."),
  minLatencyMs: amount().describe("Calls that took at least so many milliseconds."),
  maxLatencyMs: amount().describe("Calls that took at most so many milliseconds."),
};

const flat = z.object(conditions);
export interface LogCondition extends z.output<typeof flat> {
  and?: LogCondition[] | null | undefined;
  or?: LogCondition[] | null | undefined;
  not?: LogCondition | null | undefined;
}
type Nested = {
  and: z.ZodType<LogCondition["and"]>;
  or: z.ZodType<LogCondition["or"]>;
  not: z.ZodType<LogCondition["not"]>;
};

export const logCondition: z.ZodObject<typeof conditions & Nested> = z.object({
  ...conditions,
  get and(): Nested["and"] {
    return z.array(logCondition).nullish().describe("All of these hold.");
  },
  get or(): Nested["or"] {
    return z.array(logCondition).nullish().describe("One of these holds; none does when the list is empty.");
  },
  get not(): Nested["not"] {
    return logCondition
      .nullish()
      .describe("This does not hold, or cannot be said, such as of a cost that is not known.");
  },
});
// Not by its method, which would return another object than the one that the conditions refer to.
z.globalRegistry.add(logCondition, { description: "Conditions that a log meets, all of them." });

export const metadataMatch = z
  .object({
    key: text().describe("The name of a member of the metadata."),
    value: z
      .union([text(), z.number(), z.boolean(), z.null()], {
        error: "must be a string, a number, true, false or null",
      })
      .describe("Its value: a string, a number, true, false or null."),
  })
  .describe("A member that metadata must have.");

export const logFilter = z
  .object({
    ...logCondition.shape,
    metadata: list(metadataMatch, MAX_METADATA_MEMBERS)
      .nullish()
      .describe("Members that the metadata has, all of them; nested ones are not looked at."),
    text: text()
      .max(MAX_SEARCH_CHARACTERS)
      .regex(/[\p{L}\p{N}]/u, { error: "must have a letter or a digit in it" })
      .nullish()
      .describe(
        'Words that must all stand in the input or the output, in any case. Words in "double quotes" must follow each other; a word that ends in * matches all words that begin with it. A word is a run of letters and digits. Only the first 100,000 characters of the input and of the output are searched.',
      ),
  })
  .superRefine(({ from, to }, context) => {
    if (!from || !to || from <= to) return;
    context.addIssue({ code: "custom", path: ["to"], message: "must not be before from" });
  })
  .describe(
    `Selects the logs that meet all of these conditions. A filter has at most ${MAX_FILTER_VALUES} values and conditions together.`,
  );
export type LogFilter = z.output<typeof logFilter>;

/** For callers: a filter with too many values is refused before it is validated, which could take long. */
const bounded = <Filter extends z.ZodType>(filter: Filter) =>
  z.preprocess((value, context) => {
    if (countValues(value) <= MAX_FILTER_VALUES) return value;
    context.addIssue({
      code: "custom",
      message: `must have at most ${MAX_FILTER_VALUES} values and conditions together`,
    });
    return z.NEVER;
  }, filter);
export const boundedLogFilter = bounded(logFilter.nullish());
export const boundedLogCondition = bounded(logCondition.nullish());

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
