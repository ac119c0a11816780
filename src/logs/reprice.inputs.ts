import { z } from "zod";
import { requiredTimestamp } from "../validation/dateTime.ts";

export const repriceLogsInput = z
  .object({
    from: requiredTimestamp().describe("The logs of calls that began at this time or later."),
    to: requiredTimestamp().describe("The logs of calls that began before this time."),
    dryRun: z.boolean().nullish().describe("Whether to only report what would change; false when absent."),
  })
  .superRefine(({ from, to }, context) => {
    if (from <= to) return;
    context.addIssue({ code: "custom", path: ["to"], message: "must not be before from" });
  })
  .describe("Which logs to compute again.");
export const repriceLogsArguments = z.object({ input: repriceLogsInput });
export type RepriceLogsInput = z.output<typeof repriceLogsInput>;
