import { z } from "zod";
import { idPage, timePage } from "../validation/pagination.ts";
import { boundedLogFilter } from "./filter.inputs.ts";

export const logsInput = z.object({
  filter: boundedLogFilter.describe("Which ones; all of them when absent."),
  ...timePage(),
});

const { first, after } = idPage();
export const traceLogsInput = z.object({ first, after });
