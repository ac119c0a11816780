import type { Context } from "../context.ts";
import type { Page } from "../database/pages.ts";
import { runWithPauses } from "../database/pauses.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { conditionsOf } from "../logs/filter.resolvers.ts";
import { hidden } from "../logs/listing.resolvers.ts";
import { startOf } from "../logs/walk.resolvers.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { LogCountsInput } from "./counts.inputs.ts";
import {
  aliasOf,
  type Column,
  GROUP_BYTES,
  groupIn,
  keyOf,
  type Logs,
  partsOf,
  sumRows,
  unionAll,
} from "./groups.resolvers.ts";
import { addSums, largest, noSums, type Sums } from "./sums.ts";

/** The logs of a period that have something in common. */
export interface LogCount {
  /** Its sort key: the number of logs, then what they have in common. */
  sortKey: string;
  key: string | null;
  logs: number;
}

const columnOf: Record<LogCountsInput["groupBy"], Column> = {
  ...{ PROMPT: "promptSlug", VERSION: "version", MODEL: "model" },
  ...{ USER: "userId", ORGANIZATION: "organizationId", STATUS: "status" },
};

/** Counts the logs of a period by group, the groups with the most first. Reads in stretches, as `usage` does. */
export async function logCounts(
  context: Context,
  { from, to, filter, groupBy, limit, after }: LogCountsInput & Page,
): Promise<LogCount[]> {
  const workspaceId = authorize(context, "read");
  const lead = { workspaceId, by: {} };
  const range = { before: startOf(context, to), downTo: startOf(context, from) };
  const all = { and: filter ? [filter] : [] };
  const conditions = [...conditionsOf(context, all, lead), ...hidden(all)];
  const columns = [columnOf[groupBy]];
  const groups = new Map<string, Sums>();
  for await (const logs of partsOf(context, lead, range, conditions)) {
    const statement = unionAll(logs.map((part) => countsIn(part, columns)));
    for (const row of await sumRows(context, { workspaceId, filter }, statement)) {
      const key = keyOf(row, columns);
      if (!groups.has(key)) spendAnswerBytes(context, key.length + GROUP_BYTES);
      groups.set(key, addSums(groups.get(key) ?? noSums, row));
    }
  }
  const place = after === undefined ? undefined : groupIn(after);
  const top = await runWithPauses(context, workspaceId, largest(groups, limit, place));
  return top.map(([group, { logs }]) => {
    const [key]: (string | null)[] = JSON.parse(group);
    return { sortKey: `${logs} ${group}`, key: key ?? null, logs };
  });
}

function countsIn(logs: Logs, columns: Column[]) {
  return logs
    .select(({ fn }) => [...columns.map(aliasOf), fn.countAll<number>().as("logs")])
    .groupBy(columns);
}
