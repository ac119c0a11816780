import { z } from "zod";
import { optionalTimestamp } from "../validation/dateTime.ts";

const time = () =>
  optionalTimestamp().transform((value, context) => {
    if (value) return value;
    context.addIssue({ code: "custom", message: "is required" });
    return z.NEVER;
  });

export const repriceLogsInput = z
  .object({
    from: time().describe("The logs of calls that began at this time or later."),
    to: time().describe("The logs of calls that began before this time."),
    dryRun: z.boolean().nullish().describe("Whether to only report what would change; false when absent."),
  })
  .superRefine(({ from, to }, context) => {
    if (from <= to) return;
    context.addIssue({ code: "custom", path: ["to"], message: "must not be before from" });
  })
  .describe("Which logs to compute again.");
export const repriceLogsArguments = z.object({ input: repriceLogsInput });
export type RepriceLogsInput = z.output<typeof repriceLogsInput>;
