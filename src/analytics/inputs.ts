import { z } from "zod";
import { usageFilter } from "../logs/filter.inputs.ts";
import { optionalTimestamp } from "../validation/dateTime.ts";
import { boundedFilter } from "../validation/filters.ts";
import { cursor, groupKey } from "../validation/pagination.ts";
import { text } from "../validation/text.ts";

export const MAX_GROUPS = 1_000;
/** The default number of groups. */
export const GROUPS = 100;
export const MAX_DAYS = 1_100;

/** The page of a report; what comes when its size is absent is for the documentation. */
export const pageOf = (absent: string) => ({
  first: z
    .int()
    .min(0)
    .max(MAX_GROUPS)
    .nullish()
    .describe(`How many groups at most, up to ${MAX_GROUPS.toLocaleString("en")}. When absent, ${absent}.`),
  after: cursor(groupKey()).describe("Those after this cursor."),
});

const required = () =>
  optionalTimestamp().transform((time, context) => {
    if (time) return time;
    context.addIssue({ code: "custom", message: "is required" });
    return z.NEVER;
  });

export const period = {
  from: required().describe("Calls that began then or later."),
  to: required().describe("Calls that began before then."),
};

export function periodIsOrdered({ from, to }: { from: Date; to: Date }, context: z.RefinementCtx): void {
  if (from > to) context.addIssue({ code: "custom", path: ["to"], message: "must not be before from" });
}

/** Twice the longest name. The runtime writes a name that it does not know into its error: 30 times 9.6 MB took 0.2 s. */
const MAX_TIME_ZONE_CHARACTERS = 64;

export const usageInput = z
  .object({
    ...period,
    groupBy: z
      .enum(["DAY", "PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION"])
      .nullish()
      .describe("What to sum up by; everything together when absent."),
    timeZone: text(MAX_TIME_ZONE_CHARACTERS)
      .nullish()
      .transform((zone, context) => {
        const canonical = canonicalTimeZone(zone ?? "UTC");
        if (canonical) return canonical;
        context.addIssue({ code: "custom", message: "must be a time zone such as Europe/Berlin" });
        return z.NEVER;
      })
      .describe(
        "The time zone of the days when grouped by day, such as `Europe/Berlin` (an IANA name); `UTC` when absent.",
      ),
    slug: text().nullish().describe("Only the calls of this prompt, as `filter: { slug }` says for several."),
    filter: boundedFilter(usageFilter).describe("Only these calls; all of them when absent."),
    ...pageOf(`${GROUPS}, or all days`),
  })
  .superRefine(periodIsOrdered);
export type UsageInput = z.output<typeof usageInput>;

/** One spelling for each zone: luxon caches every spelling for good. */
function canonicalTimeZone(name: string): string | undefined {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone;
  } catch {
    return undefined;
  }
}
