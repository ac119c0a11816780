import { type Expression, sql } from "kysely";
import type { Context } from "../context.ts";
import { lengthOf } from "../database/lengths.ts";
import { createLoader } from "../database/loader.ts";
import { readInPieces } from "../database/pieces.ts";
import { GabbroError } from "../errors.ts";
import { spendAnswerBytes, spendAnswerValues } from "../limits/answerBudget.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import type { Log, Trace } from "./entities.ts";

/** What callers send of a log at any length. */
export type LogPayload = Pick<Log, "input" | "output" | "idealOutput" | "variables" | "metadata">;
/** The same of a trace. */
export type TracePayload = Pick<Trace, "name" | "organization" | "user" | "metadata">;

const logColumns = ["input", "output", "idealOutput", "variables", "metadata"] as const;
const traceColumns = ["name", "organization", "user", "metadata"] as const;
/** All others are JSON. */
const PLAIN_TEXT = "name";

/** A column of the payload of a log: as the row has it, else read from the database together with those of other logs. */
export const logPayload = payloadOf<LogPayload>("Log", logColumns);

/** A column of the payload of a trace, likewise. */
export const tracePayload = payloadOf<TracePayload>("Trace", traceColumns);

/** A row of whose payload nothing may have been read. */
type RowOf<Payload> = { id: string } & { [Column in keyof Payload]?: Payload[Column] };

interface Value {
  value: unknown;
  bytes: number;
}

const shared = new WeakMap<object, Map<string, Promise<Value>>>();

/** Has what is read of a row's payload stay with it, for a row that several requests answer with at the same time. */
export function share<Row extends object>(row: Row): Row {
  shared.set(row, new Map());
  return row;
}

const succeeds = (reading: Promise<unknown>): Promise<boolean> =>
  reading.then(
    () => true,
    () => false,
  );

function payloadOf<Payload>(entity: "Log" | "Trace", columns: readonly (keyof Payload & string)[]) {
  const payload: Table = { entity, columns };
  const read = createLoader<string, Value>((context, keys, times) => {
    const { workspaceId } = authenticated(context);
    return readPayloads({ context, workspaceId, payload }, keys, times);
  });
  return async <Column extends keyof Payload & string>(
    context: Context,
    row: RowOf<Payload>,
    column: Column,
  ): Promise<Payload[Column]> => {
    const own = row[column] as Payload[Column] | undefined;
    if (own !== undefined) return own;
    const kept = shared.get(row);
    const pending = kept?.get(column);
    if (pending && (await succeeds(pending))) {
      const { value, bytes } = await pending;
      // All who share it would go on in one turn: 100 listeners to a log of 4 MB took 3.6 s.
      await context.database.turn(authenticated(context).workspaceId);
      spendAnswerBytes(context, bytes);
      return value as Payload[Column];
    }
    const reading = read(context, `${column} ${row.id}`);
    if (!pending) kept?.set(column, reading); // else it was too much for another, whose error is not ours
    return (await reading).value as Payload[Column];
  };
}

/** How many bytes the whole payload of a log has. */
export function bytesOfLog(ref: (column: (typeof logColumns)[number]) => Expression<unknown>) {
  return sql<number>`(${sql.join(
    logColumns.map((column) => lengthOf(ref(column))),
    sql` + `,
  )})`;
}

interface Table {
  entity: "Log" | "Trace";
  columns: readonly string[];
}

interface Source {
  context: Context;
  workspaceId: string;
  payload: Table;
}

interface Asked {
  key: string;
  column: string;
  id: string;
}

async function readPayloads(
  source: Source,
  keys: string[],
  times: ReadonlyMap<string, number>,
): Promise<(Value | GabbroError)[]> {
  const { context, workspaceId } = source;
  const asked = keys.map((key): Asked => {
    const [column, id] = key.split(" ") as [string, string];
    return { key, column, id };
  });
  const byId = Map.groupBy(asked, ({ id }) => id);
  const lengths = await measure(source, [...byId.keys()]);
  const bytesOf = ({ id, column }: Asked) => lengths.get(id)?.[column] ?? 0;
  const bytes = asked.reduce((sum, one) => sum + bytesOf(one) * times.get(one.key)!, 0);
  spendAnswerBytes(context, bytes);
  const values = new Map<string, unknown>();
  for (const [columns, rows] of Map.groupBy(byId, ([, some]) => some.map(({ column }) => column).join(","))) {
    const found = await readInPieces(context, workspaceId, {
      rows: rows.map(([id]) => id),
      // To get to a column SQLite reads the row up to it.
      bytesOf: (id) => Object.values(lengths.get(id) ?? {}).reduce((sum, length) => sum + length, 0),
      read: (ids) => readColumns(source, columns.split(","), ids),
    });
    for (const [key, value] of found) values.set(key, value);
  }
  return asked.map((one) =>
    lengths.has(one.id) ? { value: values.get(one.key) ?? null, bytes: bytesOf(one) } : removed(source),
  );
}

/** The error for a row that was removed between two reads of a request. */
function removed({ payload: { entity } }: Source): GabbroError {
  const code = entity === "Log" ? "LOG_NOT_FOUND" : "TRACE_NOT_FOUND";
  return new GabbroError(code, `The ${entity.toLowerCase()} has just been removed.`);
}

type Lengths = Record<string, number>;

/** How many bytes the columns of rows have. */
async function measure(
  { context, workspaceId, payload }: Source,
  ids: string[],
): Promise<Map<string, Lengths>> {
  const lengths = await readInPieces(context, workspaceId, {
    rows: ids,
    bytesOf: () => 0,
    read: (some) =>
      context.database.rows(
        rowsOf(context, workspaceId, payload.entity, some).select(({ ref }) =>
          payload.columns.map((column) => lengthOf(ref(column as "input")).as(column)),
        ),
      ),
  });
  return new Map(lengths.map(({ id, ...row }) => [id, row as Lengths]));
}

async function readColumns(
  { context, workspaceId, payload }: Source,
  columns: string[],
  ids: string[],
): Promise<[key: string, value: unknown][]> {
  const rows = await context.database.rows(
    rowsOf(context, workspaceId, payload.entity, ids).select(
      columns.map((column) => `${column as "input"} as ${column}` as const),
    ),
  );
  const parse = (column: string, text: unknown) => {
    if (column === PLAIN_TEXT || text === null) return text;
    spendAnswerValues(context, text as string);
    return JSON.parse(text as string);
  };
  return rows.flatMap((row) =>
    columns.map((column): [string, unknown] => [
      `${column} ${row.id}`,
      parse(column, (row as Record<string, unknown>)[column]),
    ]),
  );
}

function rowsOf({ database }: Context, workspaceId: string, entity: Table["entity"], ids: string[]) {
  return database.read
    .selectFrom(entity as "Log")
    .select("id as id")
    .where("workspace", "=", workspaceId)
    .where("id", "in", ids);
}
