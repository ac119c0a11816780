import { z } from "zod";
import { requiredTimestamp } from "../validation/dateTime.ts";

export const pruneTracesInput = z
  .object({
    before: requiredTimestamp().describe(
      "The traces that began before this time; those that began at it stay.",
    ),
    dryRun: z.boolean().nullish().describe("Whether to only count them; false when absent."),
  })
  .describe("Which traces to remove, with their logs.");
export const pruneTracesArguments = z.object({ input: pruneTracesInput });
export type PruneTracesInput = z.output<typeof pruneTracesInput>;
