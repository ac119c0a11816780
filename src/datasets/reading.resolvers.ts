import type { Context } from "../context.ts";
import { createLoader } from "../database/loader.ts";
import { badInput } from "../errors.ts";
import { spendAnswerBytes, spendAnswerValues } from "../limits/answerBudget.ts";
import { atCursor } from "../validation/pagination.ts";
import { authorize } from "../workspaces/resolvers.ts";
import { showing } from "./columns.ts";
import { DatasetRow } from "./entities.ts";
import { MOST_ROWS_AT_ONCE, type RowsInput } from "./inputs.ts";
import { type DatasetHead, listed, type Row } from "./resolvers.ts";
import { ROW_COLUMNS, type RowColumn, type StoredRow, storedRows } from "./stored.resolvers.ts";

/**
 * A page of a dataset's rows, in their order, each with the columns that the dataset has. Without `first` all rows
 * come, unless there are more than 10,000: then a BAD_INPUT error says to page. Only what `columns` names is read.
 */
export async function datasetRows(
  context: Context,
  parent: DatasetHead,
  { first, after, columns }: RowsInput & { columns: RowColumn[] },
): Promise<Row[]> {
  if (after != null) {
    authorize(context, "read");
    atCursor(
      await context.em.count(DatasetRow, { id: after, dataset: parent.id }),
      "id of a row of the dataset",
    );
  }
  if (first == null && after == null) return (await readWhole(context, { parent, columns })).rows;
  const range = { after: after ?? null, most: first ?? MOST_ROWS_AT_ONCE + 1, columns };
  return (await rowsIn(context, parent, range)).rows;
}

interface Shown {
  rows: Row[];
  omitted: Set<string>;
}

async function rowsIn(context: Context, parent: DatasetHead, range: Range): Promise<Shown> {
  const toRow = showingRows(parent, (text) => spendAnswerValues(context, text));
  const found: Shown = { rows: [], omitted: new Set() };
  const spend = (bytes: number) => spendAnswerBytes(context, bytes);
  for await (const stored of storedRows(context, parent, { ...range, spend })) {
    for (const each of stored) {
      const { row, omitted } = toRow(each);
      found.rows.push(row);
      for (const name of omitted) found.omitted.add(name);
    }
  }
  return found;
}

/** What the fields of one dataset want of all its rows: some columns, or null for what its columns do not show. */
interface Wanted {
  parent: DatasetHead;
  columns: RowColumn[] | null;
}

/** Reads all rows of a dataset once for the fields that ask for them together. */
const readWhole = createLoader<Wanted, Shown>(async (context, wanted) => {
  const ofDataset = [...Map.groupBy(wanted, ({ parent }) => parent.id).values()];
  const read = ofDataset.map(async (some) => {
    const { parent } = some[0]!;
    const columns = [...new Set(some.flatMap((one) => one.columns ?? []))];
    const rows = some.some((one) => one.columns) ? allRowsIn(context, parent, columns).catch(toError) : null;
    const whole = columns.includes("values") ? await rows : null;
    // A field whose rows are too many fails alone.
    const shown = whole && !(whole instanceof Error) ? whole : null;
    return Promise.all(
      some.map(async (one): Promise<[Wanted, Shown | Error]> => {
        if (one.columns) return [one, (await rows)!];
        return [one, shown ?? { rows: [], omitted: await omittedIn(context, parent) }];
      }),
    );
  });
  const found = new Map((await Promise.all(read)).flat());
  return wanted.map((one) => found.get(one)!);
});

const toError = (error: unknown) => error as Error;

async function allRowsIn(context: Context, parent: DatasetHead, columns: RowColumn[]): Promise<Shown> {
  const found = await rowsIn(context, parent, { after: null, most: MOST_ROWS_AT_ONCE + 1, columns });
  if (found.rows.length <= MOST_ROWS_AT_ONCE) return found;
  const message = `is needed: the dataset has more than ${MOST_ROWS_AT_ONCE} rows. Page with rows(first: 1000, after: <id of the last row>)`;
  throw badInput([{ path: "first", message }]);
}

async function omittedIn(context: Context, parent: DatasetHead): Promise<Set<string>> {
  const show = showing(parent);
  const omitted = new Set<string>();
  for await (const stored of storedRows(context, parent, { ...ALL, columns: ["values"] }))
    for (const { values } of stored) for (const name of show(JSON.parse(values)).omitted) omitted.add(name);
  return omitted;
}

interface Range {
  after: string | null;
  most: number;
  columns: readonly RowColumn[];
}

const ALL = { after: null, most: Number.POSITIVE_INFINITY };

/** All rows of a dataset in their order, piece by piece, so that a huge dataset never stands in memory. */
export async function* allDatasetRows(
  context: Context,
  parent: DatasetHead,
): AsyncGenerator<{ rows: Row[]; omitted: string[] }> {
  const toRow = showingRows(parent);
  for await (const stored of storedRows(context, parent, { ...ALL, columns: ROW_COLUMNS })) {
    const known = stored.map(toRow);
    yield { rows: known.map(({ row }) => row), omitted: known.flatMap(({ omitted }) => omitted) };
  }
}

/** The same as texts of JSON with the values, the ideal output and the metadata of each row, in which most is as it was stored. */
export async function* allDatasetRowTexts(
  context: Context,
  parent: DatasetHead,
): AsyncGenerator<{ texts: string[]; omitted: string[] }> {
  const show = showing(parent);
  const range = { ...ALL, columns: ["values", "idealOutput", "metadata"] } as const;
  for await (const stored of storedRows(context, parent, range)) {
    const omittedHere: string[] = [];
    const texts = stored.map(({ values, idealOutput, metadata }) => {
      const parsed = JSON.parse(values);
      const { shown, omitted } = show(parsed);
      omittedHere.push(...omitted);
      const shownText = shown === parsed ? values : JSON.stringify(shown);
      return `{"values":${shownText},"idealOutput":${JSON.stringify(idealOutput)},"metadata":${metadata}}`;
    });
    yield { texts, omitted: omittedHere };
  }
}

/** Shows stored rows; `spend` learns of each text before it is parsed. */
function showingRows(parent: DatasetHead, spend: (text: string) => void = () => {}) {
  const show = showing(parent);
  const parse = (text: string) => {
    spend(text);
    return JSON.parse(text);
  };
  return (stored: StoredRow): { row: Row; omitted: string[] } => {
    const row = stored as unknown as Row; // no copy: there are very many
    if (stored.createdAt !== undefined) row.createdAt = new Date(stored.createdAt);
    if (stored.metadata) row.metadata = parse(stored.metadata);
    if (stored.values === undefined) return { row, omitted: [] };
    const { shown, omitted } = show(parse(stored.values));
    row.values = shown;
    return { row, omitted };
  };
}

/** The warning for stored values that no column shows any more; null when there are none. */
export async function datasetWarning(context: Context, parent: DatasetHead): Promise<string | null> {
  return omittedOnRead((await readWhole(context, { parent, columns: null })).omitted);
}

/** The warning for columns whose stored values were left out of the rows that were read; null for none. */
export function omittedOnRead(names: ReadonlySet<string>): string | null {
  if (names.size === 0) return null;
  return `Some rows contained columns that do not exist in the dataset and were omitted: ${listed([...names])}`;
}

/** How many rows a dataset has. */
export const rowCount: (context: Context, datasetId: string) => Promise<number> = createLoader(
  async (context, ids) => {
    const workspaceId = authorize(context, "read");
    const counts = await context.database.read
      .selectFrom("DatasetRow")
      .select((expression) => ["dataset", expression.fn.countAll<number>().as("rows")])
      .where("workspace", "=", workspaceId)
      .where("dataset", "in", ids)
      .groupBy("dataset")
      .execute();
    const byDataset = new Map(counts.map((count) => [count.dataset, Number(count.rows)]));
    return ids.map((id) => byDataset.get(id) ?? 0);
  },
);
