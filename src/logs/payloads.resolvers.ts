import { type Expression, sql } from "kysely";
import type { Context } from "../context.ts";
import { lengthOf } from "../database/lengths.ts";
import { createLoader, once } from "../database/loader.ts";
import { createPauses } from "../database/pauses.ts";
import { readInPieces } from "../database/pieces.ts";
import { GabbroError } from "../errors.ts";
import { parseStored, spendAnswerBytes } from "../limits/answerBudget.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import { type Content, type ContentPart, withCopies } from "./copiedAttributes.ts";
import { type Log, logPayloadColumns as logColumns, type Trace, type TraceRecord } from "./entities.ts";

/** The columns of a log that may have any length. */
export type LogPayload = Pick<Log, (typeof logColumns)[number]>;
/** Those of a trace. */
export type TracePayload = Pick<Trace, (typeof traceColumns)[number]>;

const traceColumns = [
  ...["name", "organization", "user", "metadata"],
  ...["evaluators", "idealOutput", "input", "output"],
] as const;
/** The columns that are not JSON. */
const PLAIN_TEXTS = ["name", "statusMessage"];

/** A column of the payload of a log: from the row, else from the database in one batch with those of other logs. */
export const logPayload = payloadOf<LogPayload>("Log", logColumns);

/** The attributes of a log as they came: what its input, output or metadata holds is stored in these alone. */
export async function logAttributes(context: Context, log: RowOf<LogPayload>) {
  const attributes = await logPayload(context, log, "attributes");
  if (!attributes?.copies) return attributes;
  const [input, output, metadata] = await Promise.all([
    logPayload(context, log, "input"),
    logPayload(context, log, "output"),
    logPayload(context, log, "metadata"),
  ]);
  return completed(attributes, { input, output, metadata });
}

// Made once for all fields of a log: 145 with an input of 196 kB as a text of JSON took 0.5 s.
const completed = once((attributes: Record<string, unknown>, content: Content) =>
  withCopies(attributes, content),
);

/** A column of the payload of a trace, likewise. */
export const tracePayload = payloadOf<TracePayload>("Trace", traceColumns);

/** A part of the content of a trace: its own, else that of the log at its root. */
export async function ownOrOfRoot<Part extends ContentPart>(
  context: Context,
  trace: TraceRecord,
  part: Part,
): Promise<Content[Part]> {
  const own = await tracePayload(context, trace, part);
  if (own !== null || trace.rootId == null) return own;
  return logPayload(context, { id: trace.rootId }, part);
}

/** A row whose payload may not have been read. */
type RowOf<Payload> = { id: string } & { [Column in keyof Payload]?: Payload[Column] };

interface Value {
  value: unknown;
  bytes: number;
}

const shared = new WeakMap<object, Map<string, Promise<Value>>>();

/** Caches what is read of a row's payload, for a row that several requests answer with at the same time. */
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
    const cache = shared.get(row);
    const pending = cache?.get(column);
    if (pending && (await succeeds(pending))) {
      const { value, bytes } = await pending;
      // Without a turn of its own each subscriber would go on at once: 100 of them took 3.6 s for a log of 4 MB.
      await context.database.turn(authenticated(context).workspaceId);
      spendAnswerBytes(context, bytes);
      return value as Payload[Column];
    }
    const reading = read(context, `${column} ${row.id}`);
    if (!pending) cache?.set(column, reading); // a pending one failed on another request's budget
    return (await reading).value as Payload[Column];
  };
}

/** The length of the whole payload of a log, in bytes. */
export const bytesOfLog = bytesIn(logColumns);
/** That of a trace. */
export const bytesOfTrace = bytesIn(traceColumns);

function bytesIn<Column>(columns: readonly Column[]) {
  return (ref: (column: Column) => Expression<unknown>) => {
    const lengths = columns.map((column) => lengthOf(ref(column)));
    return sql<number>`(${sql.join(lengths, sql` + `)})`;
  };
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

interface Cell {
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
  const cells = keys.map((key): Cell => {
    const [column, id] = key.split(" ") as [string, string];
    return { key, column, id };
  });
  const byId = Map.groupBy(cells, ({ id }) => id);
  const lengths = await measure(source, [...byId.keys()]);
  const bytesOf = ({ id, column }: Cell) => lengths.get(id)?.[column] ?? 0;
  const bytes = cells.reduce((sum, cell) => sum + bytesOf(cell) * times.get(cell.key)!, 0);
  spendAnswerBytes(context, bytes);
  const values = new Map<string, unknown>();
  for (const [columns, rows] of Map.groupBy(byId, ([, some]) => some.map(({ column }) => column).join(","))) {
    const pairs = await readInPieces(context, workspaceId, {
      rows: rows.map(([id]) => id),
      // SQLite reads a row up to the column.
      bytesOf: (id) => Object.values(lengths.get(id) ?? {}).reduce((sum, length) => sum + length, 0),
      read: (ids) => readColumns(source, columns.split(","), ids),
    });
    for (const [key, value] of pairs) values.set(key, value);
  }
  return cells.map((cell) =>
    // A row that was measured may be gone when it is read.
    values.has(cell.key) ? { value: values.get(cell.key), bytes: bytesOf(cell) } : notFound(source),
  );
}

/** The error for a row that was removed between two reads of a request. */
function notFound({ payload: { entity } }: Source): GabbroError {
  const code = entity === "Log" ? "LOG_NOT_FOUND" : "TRACE_NOT_FOUND";
  return new GabbroError(code, `The ${entity.toLowerCase()} has just been removed.`);
}

type Lengths = Record<string, number>;

/** The length of each payload column in bytes, by id of the row. */
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
  const parse = (column: string, text: unknown) =>
    PLAIN_TEXTS.includes(column) || text === null ? text : parseStored(context, text as string);
  const pause = createPauses(context, workspaceId); // 4 MB of small values take 150 ms to parse
  const pairs: [key: string, value: unknown][] = [];
  for (const row of rows) {
    for (const column of columns)
      pairs.push([`${column} ${row.id}`, parse(column, (row as Record<string, unknown>)[column])]);
    if (pause.isDue()) await pause.take();
  }
  return pairs;
}

function rowsOf({ database }: Context, workspaceId: string, entity: Table["entity"], ids: string[]) {
  return database.read
    .selectFrom(entity as "Log")
    .select("id as id")
    .where("workspace", "=", database.search.unestimated(workspaceId))
    .where("id", "in", ids);
}
