import type { Context } from "../context.ts";
import { inTransaction } from "../database/transaction.ts";
import type { DatasetRow } from "../datasets/entities.ts";
import { getDataset, putRows, type Row, refuseLargeRow, whileThere } from "../datasets/resolvers.ts";
import { badInput } from "../errors.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { Log } from "./entities.ts";
import type { AddLogToDatasetInput, LogColumn } from "./inputs.ts";
import { type LogPayload, logPayload } from "./payloads.resolvers.ts";
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
  const found = await log(context, { id: logId });
  const parent = await getDataset(context, workspace, slug);
  const call = await readCall(
    context,
    found,
    columns?.map(({ from }) => from) ?? parent.columns.map(partNamed),
  );
  const values = columns ? valuesBy(columns, call) : valuesByName(parent.columns, call);
  refuseLargeRow(values);
  const { idealOutput, metadata } = call;
  const row = { name: null, key: null, values, idealOutput: textOf(idealOutput), metadata, logId: found.id };
  const [added] = await whileThere(slug, () =>
    inTransaction(context.em, (em) => putRows(em, workspace, parent, [row])),
  );
  return added!;
}

/** The log that a row was made from; null when it was made otherwise, or the log is gone. */
export async function logOf(context: Context, { logId }: Pick<DatasetRow, "logId">): Promise<Log | null> {
  if (logId === null) return null;
  authorize(context, "read");
  return findLog(context, logId);
}

type Part = LogColumn["from"];

/** The part of a log that a column takes by its name: what is no part is the label of a variable. */
function partNamed({ name }: { name: string }): Part {
  return name === "input" || name === "output" ? name : "variable";
}

/** What a row is made of: of a log's payload only the parts that are used. */
async function readCall(context: Context, found: Log, parts: Part[]): Promise<LogPayload> {
  const read = <Column extends keyof LogPayload>(column: Column, part: Part) =>
    parts.includes(part) ? logPayload(context, found, column) : null;
  const [input, output, variables, idealOutput, metadata] = await Promise.all([
    read("input", "input"),
    read("output", "output"),
    read("variables", "variable"),
    logPayload(context, found, "idealOutput"),
    logPayload(context, found, "metadata"),
  ]);
  return { input, output, variables, idealOutput, metadata };
}

function valuesBy(columns: LogColumn[], call: LogPayload): Record<string, unknown> {
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

function valuesByName(columns: { name: string }[], call: LogPayload): Record<string, unknown> {
  const variables = (call.variables ?? []).map(({ label, value }) => [label, value] as const);
  const parts = new Map<string, unknown>([["input", call.input], ["output", call.output], ...variables]);
  const named = columns.map(({ name }) => [name, parts.get(name) ?? null] as const);
  return Object.fromEntries(named.filter(([, value]) => value !== null));
}

function textOf(value: unknown): string | null {
  if (value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}
