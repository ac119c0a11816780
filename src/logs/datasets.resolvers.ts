import type { Context } from "../context.ts";
import { countCopied } from "../database/requestTransaction.ts";
import type { DatasetRow } from "../datasets/entities.ts";
import { storeRows } from "../datasets/put.resolvers.ts";
import { getDataset, refuseLargeRow, type StoredItem } from "../datasets/resolvers.ts";
import { badInput } from "../errors.ts";
import { spendAnswerBytes } from "../limits/answerBudget.ts";
import { keyOfText } from "../limits/longTexts.ts";
import { authorize } from "../workspaces/resolvers.ts";
import type { Log, LoggedVariable, LogRow } from "./entities.ts";
import type { AddLogToDatasetInput, LogColumn } from "./inputs.ts";
import { type LogPayload, logPayload } from "./payloads.resolvers.ts";
import { findLog, getLog } from "./resolvers.ts";

/**
 * Adds a row made of a logged call to a dataset and links it to its log. `columns` says which part of the call goes into
 * which column; without it each column takes the part, or else the variable, of its own name. The call's ideal output becomes
 * the row's.
 */
export async function addLogToDataset(
  context: Context,
  { slug, input: { logId, columns } }: AddLogToDatasetInput,
): Promise<StoredItem> {
  const workspace = authorize(context, "write");
  const log = await getLog(context, { id: logId });
  const parent = await getDataset(context, workspace, slug);
  const parts = columns?.map(({ from }) => from) ?? parent.columns.map(partNamed);
  const call = await readCall(context, log, parts);
  const values = columns ? valuesBy(columns, call) : valuesByName(parent.columns, call);
  const { idealOutput, metadata } = call;
  const row = { name: null, key: null, values, idealOutput: textOf(idealOutput), metadata, logId: log.id };
  const bytes = refuseLargeRow(row);
  spendAnswerBytes(context, bytes); // 25 rows of 16 MB in one request of 34 kB took 4 s of processor time
  countCopied(context.em, bytes);
  const [added] = await storeRows(context, { workspace, parent, inputs: [row] });
  return added!;
}

/** The log that a row was made from; null when it was made otherwise, or the log is gone. */
export async function logOf(context: Context, { logId }: Pick<DatasetRow, "logId">): Promise<LogRow | null> {
  if (logId === null) return null;
  authorize(context, "read");
  return findLog(context, logId);
}

type Part = LogColumn["from"];

/** The part of a log that a column of this name takes. A name other than a part's is the label of a variable. */
function partNamed({ name }: { name: string }): Part {
  return name === "input" || name === "output" ? name : "variable";
}

type CallPayload = Pick<LogPayload, "input" | "output" | "variables" | "idealOutput" | "metadata">;

/** Reads only those parts of a payload that the row takes: each may be megabytes. */
async function readCall(context: Context, log: Log, parts: Part[]): Promise<CallPayload> {
  const read = <Column extends keyof CallPayload>(column: Column, part: Part) =>
    parts.includes(part) ? logPayload(context, log, column) : null;
  const [input, output, variables, idealOutput, metadata] = await Promise.all([
    read("input", "input"),
    read("output", "output"),
    read("variables", "variable"),
    logPayload(context, log, "idealOutput"),
    logPayload(context, log, "metadata"),
  ]);
  return { input, output, variables, idealOutput, metadata };
}

/** By label: a thousand columns and as many labels of 9,600 characters took 0.5 s to compare. The first of equal ones counts. */
const variablesOf = (call: CallPayload) =>
  new Map<string, LoggedVariable>(call.variables?.toReversed().map((each) => [keyOfText(each.label), each]));

function valuesBy(columns: LogColumn[], call: CallPayload): Record<string, unknown> {
  const variables = variablesOf(call);
  const values = columns.map(({ column, from, variable }, at) => {
    if (from !== "variable") return [column, call[from]];
    const source = typeof variable === "string" ? variables.get(keyOfText(variable)) : undefined;
    if (source) return [column, source.value];
    throw badInput([
      { path: `columns.${at}.variable`, message: "names a variable that the log does not have" },
    ]);
  });
  return Object.fromEntries(values.filter(([, value]) => value !== null));
}

function valuesByName(columns: { name: string }[], call: CallPayload): Record<string, unknown> {
  const variables = variablesOf(call);
  const values = columns.map((column) => {
    const part = partNamed(column);
    const value = part === "variable" ? variables.get(keyOfText(column.name))?.value : call[part];
    return [column.name, value ?? null] as const;
  });
  return Object.fromEntries(values.filter(([, value]) => value !== null));
}

function textOf(value: unknown): string | null {
  if (value === null) return null;
  return typeof value === "string" ? value : JSON.stringify(value);
}
