import type { Context } from "../context.ts";
import { createLoader } from "../database/loader.ts";
import { createPauses } from "../database/pauses.ts";
import { badInput } from "../errors.ts";
import { type Hold, holdLargest, spendAnswerBytes } from "../limits/answerBudget.ts";
import { authenticated } from "../workspaces/resolvers.ts";
import { valuesDecoder } from "./columns.ts";
import { ROW_COLUMNS, type RowColumn, type StoredRow } from "./contents.resolvers.ts";
import { MAX_ROWS_AT_ONCE } from "./inputs.ts";
import { rowParser } from "./parsing.ts";
import { type DatasetHead, joinNames, type Row } from "./resolvers.ts";
import { openRows, storedRows } from "./stored.resolvers.ts";

interface RowsPage {
  after?: string | null | undefined;
  limit?: number | undefined;
  columns: RowColumn[];
}

/**
 * A page of a dataset's rows, in their order; reads only `columns`. Without a limit it returns all rows, or throws
 * BAD_INPUT when there are more than 10,000.
 */
export async function datasetRows(
  context: Context,
  parent: DatasetHead,
  { after = null, limit, columns }: RowsPage,
): Promise<Row[]> {
  if (limit === undefined) return (await readWhole(context, { parent, columns })).rows;
  return (await rowsIn(context, parent, { after, limit, columns })).rows;
}

interface RowSet {
  rows: Row[];
  omitted: Set<string>;
}

async function rowsIn(context: Context, parent: DatasetHead, range: Range): Promise<RowSet> {
  const parse = rowParser(context, parent);
  const result: RowSet = { rows: [], omitted: new Set() };
  const spend = (bytes: number) => spendAnswerBytes(context, bytes);
  for await (const piece of storedRows(context, parent, { ...range, spend })) {
    const pause = createPauses(context, authenticated(context).workspaceId); // of this piece: its read had a turn
    for (const each of piece) {
      if (pause.isDue()) await pause.take();
      const { row, omitted } = parse(each);
      result.rows.push(row);
      for (const name of omitted) result.omitted.add(name);
    }
  }
  return result;
}

/** What a field reads of all rows of a dataset: some columns, or null for only the names of omitted columns. */
interface WholeRead {
  parent: DatasetHead;
  columns: RowColumn[] | null;
}

/** Reads all rows of a dataset once for all fields of one operation. */
const readWhole = createLoader<WholeRead, RowSet>(async (context, reads) => {
  const ofDataset = [...Map.groupBy(reads, ({ parent }) => `${parent.id} ${parent.version}`).values()];
  const byRead = new Map<WholeRead, RowSet | Error>();
  const hold = holdLargest(context); // one after another, as each has a piece of its rows in memory
  for (const some of ofDataset) {
    const { parent } = some[0]!;
    const columns = [...new Set(some.flatMap((one) => one.columns ?? []))];
    const rows = some.some((one) => one.columns) ? allRowsIn(context, parent, columns).catch(toError) : null;
    const whole = columns.includes("values") ? await rows : null;
    // A field whose rows are too many fails alone.
    const available = whole && !(whole instanceof Error) ? whole : null;
    const needsOmitted = !available && some.some((one) => !one.columns);
    const omitted = needsOmitted ? await omittedIn(context, parent, hold).catch(toError) : available;
    const read = await rows;
    for (const one of some) byRead.set(one, (one.columns ? read : omitted)!);
  }
  return reads.map((one) => byRead.get(one)!);
});

const toError = (error: unknown) => error as Error;

async function allRowsIn(context: Context, parent: DatasetHead, columns: RowColumn[]): Promise<RowSet> {
  const result = await rowsIn(context, parent, { after: null, limit: MAX_ROWS_AT_ONCE + 1, columns });
  if (result.rows.length <= MAX_ROWS_AT_ONCE) return result;
  const message = `is needed: the dataset has more than ${MAX_ROWS_AT_ONCE} rows. Page with rows(first: 1000, after: <endCursor>)`;
  throw badInput([{ path: "first", message }]);
}

async function omittedIn(context: Context, parent: DatasetHead, hold: Hold): Promise<RowSet> {
  const decode = valuesDecoder(parent);
  const omitted = new Set<string>();
  for await (const piece of storedRows(context, parent, { ...ALL, columns: ["values"], hold })) {
    const pause = createPauses(context, authenticated(context).workspaceId);
    for (const { values } of piece) {
      if (pause.isDue()) await pause.take();
      for (const name of decode(JSON.parse(values)).omitted) omitted.add(name);
    }
  }
  return { rows: [], omitted };
}

interface Range {
  after: string | null;
  limit: number;
  columns: readonly RowColumn[];
}

const ALL = { after: null, limit: Number.POSITIVE_INFINITY };

/** All rows of a dataset in their order, piece by piece, so that no dataset is in memory as a whole. */
export async function* allDatasetRows(
  context: Context,
  parent: DatasetHead,
): AsyncGenerator<{ rows: Row[]; omitted: string[] }> {
  const parse = rowParser(context, parent);
  for await (const piece of storedRows(context, parent, { ...ALL, columns: ROW_COLUMNS })) {
    const parsed = piece.map(parse);
    yield { rows: parsed.map(({ row }) => row), omitted: parsed.flatMap(({ omitted }) => omitted) };
  }
}

/** The rows of a dataset as texts of JSON, and the names of columns that it has no more. */
interface RowTexts {
  texts: string[];
  omitted: string[];
}

/**
 * Like `allDatasetRows`, but as texts of JSON with id, values, ideal output and metadata: most are sent as stored, unparsed.
 * With the dataset in the version that they are of.
 */
export async function allDatasetRowTexts(
  context: Context,
  head: DatasetHead,
): Promise<{ parent: DatasetHead; pieces: AsyncGenerator<RowTexts> }> {
  const hold = holdLargest(context);
  const columns = ["values", "idealOutput", "metadata"] as const;
  const { parent, rows } = await openRows(context, head, { columns, hold });
  return { parent, pieces: toTexts(context, { parent, rows, hold }) };
}

/** The objects of a larger piece can take 60 ms, and results of PostgreSQL arrive for several requests in one turn. */
const MAX_CHARACTERS_WITHIN_TURN = 1024 * 1024;
/** Renamed to long names, the columns of a row can be 200 times as long as stored: texts are sent before a piece is done. */
const MAX_CHARACTERS_AT_ONCE = 256 * 1024;

async function* toTexts(
  context: Context,
  { parent, rows, hold }: { parent: DatasetHead; rows: AsyncGenerator<StoredRow[]>; hold: Hold },
): AsyncGenerator<RowTexts> {
  const toText = rowTexts(parent);
  const { workspaceId } = authenticated(context);
  for await (const piece of rows) {
    const stored = piece.reduce((sum, { values }) => sum + values.length, 0);
    if (stored > MAX_CHARACTERS_WITHIN_TURN) await context.database.turn(workspaceId);
    const pause = createPauses(context, workspaceId); // of this piece: its read had a turn
    let part: RowTexts = { texts: [], omitted: [] };
    let characters = 0;
    for (const [at, row] of piece.entries()) {
      if (pause.isDue()) await pause.take(); // values of removed columns are parsed, and add nothing to a part
      const { text, omitted } = toText(row);
      part.texts.push(text);
      part.omitted.push(...omitted);
      characters += text.length;
      if (characters < MAX_CHARACTERS_AT_ONCE && at < piece.length - 1) continue;
      hold(characters);
      yield part;
      [part, characters] = [{ texts: [], omitted: [] }, 0];
    }
  }
}

function rowTexts(parent: DatasetHead) {
  const decode = valuesDecoder(parent);
  return ({ id, values, idealOutput, metadata }: StoredRow) => {
    const parsed = JSON.parse(values);
    const decoded = decode(parsed);
    const valuesText = decoded.values === parsed ? values : JSON.stringify(decoded.values);
    const text = `{"id":"${id}","values":${valuesText},"idealOutput":${JSON.stringify(idealOutput)},"metadata":${metadata}}`;
    return { text, omitted: decoded.omitted };
  };
}

/** The warning for stored values whose columns the dataset no longer has; null for none. */
export async function datasetWarning(context: Context, parent: DatasetHead): Promise<string | null> {
  return readWarning((await readWhole(context, { parent, columns: null })).omitted);
}

/** The warning for stored values that were left out of the answer, as their columns were removed; null for none. */
export function readWarning(names: ReadonlySet<string>): string | null {
  if (names.size === 0) return null;
  return `Some rows contained columns that do not exist in the dataset and were omitted: ${joinNames([...names])}`;
}
