import { z } from "zod";
import { optionalTimestamp } from "../validation/dateTime.ts";
import {
  anyOf,
  boundedFilter,
  type Combined,
  conditionsWith,
  FILTER_BOUNDS,
  soughtText,
  soughtTexts,
} from "../validation/filters.ts";
import { list } from "../validation/list.ts";
import { wordsToFind } from "../validation/text.ts";
import { logStatuses, logTypes } from "./entities.ts";

const MAX_METADATA_MATCHES = 10;
const MAX_SEARCH_CHARACTERS = 1_000;
/** PostgreSQL compares words that must follow each other at each word of a log: 481 of them took 2.7 to 4.3 s in 60 logs. */
const MAX_SEARCH_WORDS = 32;

const amount = () => z.number().nullish();
const conditions = {
  slug: soughtTexts().describe("One of these slugs of prompts was logged, whether the prompts exist or not."),
  version: soughtTexts().describe("One of these versions served."),
  tag: soughtTexts().describe("The version was found by one of these tags."),
  userId: soughtTexts().describe(
    "The user has one of these ids, as the caller knows them. Of a span it is the user that the span itself names.",
  ),
  organizationId: soughtTexts().describe(
    "The organization has one of these ids, as the caller knows them. Of a span it is the one that the span itself names.",
  ),
  from: optionalTimestamp().describe("Calls that began then or later."),
  to: optionalTimestamp().describe("Calls that began before then."),
  type: anyOf(z.enum(logTypes)).describe("One of these kinds of steps."),
  model: soughtTexts().describe("A model with one of these names answered."),
  status: anyOf(z.enum(logStatuses)).describe("They ended like one of these, as the client reported."),
  minCost: amount().describe("Calls that cost at least so much, in US dollars."),
  maxCost: amount().describe("Calls that cost at most so much, in US dollars."),
  minLatencyMs: amount().describe("Calls that took at least so many milliseconds."),
  maxLatencyMs: amount().describe("Calls that took at most so many milliseconds."),
};

export const logCondition = conditionsWith(conditions, {
  description: "Conditions that a log meets, all of them.",
  such: "of a cost that is not known",
});
/** Some of these conditions, combined with others. */
export type LogConditions = Combined<Partial<z.output<z.ZodObject<typeof conditions>>>>;

const { slug, version, model, userId, organizationId, status } = conditions;
/** What the index that usage is read along has. */
export const usageFilter = conditionsWith(
  { slug, version, model, userId, organizationId, status },
  {
    description: `Selects the calls that meet all of these conditions. ${FILTER_BOUNDS}`,
    such: "of a model that is not known",
  },
);
export const metadataMatch = z
  .object({
    key: soughtText().describe("The name of a member of the metadata, of at most 4,096 characters."),
    value: z
      .union([soughtText(), z.number(), z.boolean(), z.null()], {
        error: "must be a string, a number, true, false or null",
      })
      .describe("Its value: a string of at most 4,096 characters, a number, true, false or null."),
  })
  .describe("A member that metadata must have.");

export const logFilter = z
  .object({
    ...logCondition.shape,
    metadata: list(metadataMatch, MAX_METADATA_MATCHES)
      .nullish()
      .describe("Members that the metadata has, all of them; nested ones are not looked at."),
    text: wordsToFind(MAX_SEARCH_CHARACTERS, MAX_SEARCH_WORDS)
      .nullish()
      .describe(
        `Words that must all stand in the input or the output, in any case. Words in "double quotes" must follow each other; a word that ends in * matches all words that begin with it. A word is a run of letters and digits; there are ${MAX_SEARCH_WORDS} at most. Only the first 100,000 characters of the input and of the output are searched.`,
      ),
  })
  .superRefine(({ from, to }, context) => {
    if (!from || !to || from <= to) return;
    context.addIssue({ code: "custom", path: ["to"], message: "must not be before from" });
  })
  .describe(`Selects the logs that meet all of these conditions. ${FILTER_BOUNDS}`);
export type LogFilter = z.output<typeof logFilter>;

export const boundedLogFilter = boundedFilter(logFilter);
export const boundedLogCondition = boundedFilter(logCondition);
