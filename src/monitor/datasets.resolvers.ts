import type { Context } from "../context.ts";
import { transact } from "../database/transact.ts";
import type { DatasetRow } from "../datasets/entities.ts";
import { getDataset, putRows, type Row, whileThere } from "../datasets/resolvers.ts";
import { badInput } from "../errors.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { Log } from "./entities.ts";
import type { AddLogToDatasetInput, LogColumn } from "./inputs.ts";
import { findLog, log } from "./resolvers.ts";

/**
 * Makes a row of a dataset out of a logged call and links it to its log. `columns` says which part of the call goes
 * into which column; without it each column takes the part or the variable of its own name. What the call should have
 * answered becomes the row's ideal output.
 */
export async function addLogToDataset(
  context: Context,
  { logId, slug, columns }: AddLogToDatasetInput,
): Promise<{ datasetRow: Row; warning: string | null }> {
  const workspace = authorize(context, "write");
  const call = await log(context, { id: logId });
  const parent = await getDataset(context, workspace, slug);
  const values = columns ? valuesBy(columns, call) : valuesByName(parent.columns, call);
  const { idealOutput, metadata, id } = call;
  const row = { name: null, key: null, values, idealOutput: textOf(idealOutput), metadata, logId: id };
  const [added] = await whileThere(slug, () =>
    transact(context.em, (em) => putRows(em, workspace, parent, [row])),
  );
  return added!;
}

/** The log that a row was made from; null when it was made otherwise, or the log is gone. */
export async function logOf(context: Context, { logId }: Pick<DatasetRow, "logId">): Promise<Log | null> {
  if (logId === null) return null;
  authorize(context, "read");
  return findLog(context, logId);
}

function valuesBy(columns: LogColumn[], call: Log): Record<string, unknown> {
  const taken = columns.map(({ column, from, variable }, at) => {
    if (from !== "variable") return [column, call[from]];
    const found = call.variables?.find(({ label }) => label === variable);
    if (found) return [column, found.value];
    throw badInput([
      { path: `columns.${at}.variable`, message: "names a variable that the log does not have" },
    ]);
  });
  return Object.fromEntries(taken.filter(([, value]) => value !== null));
}

function valuesByName(columns: { name: string }[], call: Log): Record<string, unknown> {
  const variables = (call.variables ?? []).map(({ label, value }) => [label, value] as const);
  const parts = new Map<string, unknown>([["input", call.input], ["output", call.output], ...variables]);
  const named = columns.map(({ name }) => [name, parts.get(name) ?? null] as const);
  return Object.fromEntries(named.filter(([, value]) => value !== null));
}

function textOf(value: unknown): string | null {
  if (value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}
