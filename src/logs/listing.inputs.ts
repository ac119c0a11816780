import { z } from "zod";
import { list } from "../validation/list.ts";
import { idPage, timePage } from "../validation/pagination.ts";
import { logStatuses, logTypes } from "./entities.ts";
import { boundedLogFilter } from "./filter.inputs.ts";

export const logsInput = z.object({
  filter: boundedLogFilter.describe("Which ones; all of them when absent."),
  ...timePage(),
});

/** The most logs on a page of a trace. */
export const MAX_TRACE_PAGE = 2_000;

const { first, after } = idPage({ max: MAX_TRACE_PAGE });
export const traceLogsInput = z.object({
  first,
  after,
  types: list(z.enum(logTypes), logTypes.length)
    .nullish()
    .describe(
      "Only logs of these types; all of them when absent. Logs of the type `INTERNAL` are never returned.",
    ),
  status: z.enum(logStatuses).nullish().describe("Only logs that ended like this; all of them when absent."),
});
