import { z } from "zod";
import { boundedLogCondition } from "../logs/filter.inputs.ts";
import { GROUPS, pageOf, period, periodIsOrdered } from "./inputs.ts";

export const logCountsInput = z
  .object({
    ...period,
    groupBy: z
      .enum(["PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION", "STATUS"])
      .describe("What the logs of a group have in common."),
    filter: boundedLogCondition.describe("Which logs; all of the period when absent."),
    ...pageOf(`${GROUPS}`),
  })
  .superRefine(periodIsOrdered);
export type LogCountsInput = z.output<typeof logCountsInput>;
