import { z } from "zod";
import { optionalTimestamp } from "../validation/dateTime.ts";
import { list } from "../validation/list.ts";
import { idPage, timePage } from "../validation/pagination.ts";
import { text } from "../validation/text.ts";

const MAX_METADATA_MEMBERS = 10;
const MAX_SEARCH_CHARACTERS = 1_000;
const amount = () => z.number().nullish();

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
    slug: text().nullish().describe("The slug of the prompt that was logged, whether it exists or not."),
    version: text().nullish().describe("The version that served."),
    tag: text().nullish().describe("The tag by which the version was found."),
    userId: text().nullish().describe("The id of the user, as the caller knows it."),
    organizationId: text().nullish().describe("The id of the organization, as the caller knows it."),
    from: optionalTimestamp().describe("Calls that began then or later."),
    to: optionalTimestamp().describe("Calls that began before then."),
    type: z.enum(["generation"]).nullish().describe("The kind of step."),
    minCost: amount().describe("Calls that cost at least so much, in US dollars."),
    maxCost: amount().describe("Calls that cost at most so much, in US dollars."),
    minLatencyMs: amount().describe("Calls that took at least so many milliseconds."),
    maxLatencyMs: amount().describe("Calls that took at most so many milliseconds."),
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
  .describe("Selects the logs that meet all of these conditions.");
export type LogFilter = z.output<typeof logFilter>;

export const logsInput = z.object({
  filter: logFilter.nullish().describe("Which ones; all of them when absent."),
  ...timePage(),
});

const { first, after } = idPage();
export const traceLogsInput = z.object({ first, after });
