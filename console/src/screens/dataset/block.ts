import type { DatasetItemInput, UpdateDatasetItemInput } from "../../gql/graphql.ts";
import { csvReader } from "../../parts/csvReader.ts";
import { type GridColumn, type Row, toValue, valueIn } from "./cells.ts";

/** A cell's column with the text for it. */
export type CellText = [column: GridColumn, text: string];

/** The cells of a block that was copied from a spreadsheet: tabs between them, quotation marks as in RFC 4180. */
export function parseBlock(text: string): string[][] {
  const block = text.replace(/\r?\n$/, "");
  const reader = csvReader("\t");
  const records = [...reader.read(block), ...reader.end()];
  // Some programs do not double the quotation marks of a cell that begins with one.
  if (records.some(({ problem }) => problem)) return block.split(/\r?\n/).map((line) => line.split("\t"));
  return records.map(({ cells }) => cells.map((cell) => cell ?? ""));
}

export interface Placed {
  /** The rows that are there, with the cells that go into them. */
  updates: { index: number; row: Row; cells: CellText[] }[];
  /** Past the end, the rows to add. */
  additions: { index: number; item: DatasetItemInput }[];
}

/** Where the cells of a block go when it begins at a cell; what lies beyond the last column is left out. */
export function placeBlock(
  block: string[][],
  at: { row: number; column: number },
  rows: Row[],
  columns: GridColumn[],
): Placed {
  const placed: Placed = { updates: [], additions: [] };
  block.forEach((texts, line) => {
    const index = at.row + line;
    const row = rows[index];
    const cells = columns.slice(at.column).flatMap((column, n): CellText[] => {
      const text = texts[n];
      return text === undefined ? [] : [[column, text]];
    });
    if (!row) placed.additions.push({ index, item: itemOf(cells) });
    else placed.updates.push({ index, row, cells });
  });
  return placed;
}

/** A row of the texts of its cells; an empty one is no value. */
export function itemOf(cells: CellText[]): DatasetItemInput {
  const filled = cells.filter(([, text]) => text !== "");
  return {
    values: Object.fromEntries(
      filled.flatMap(([column, text]) =>
        column.isIdealOutput ? [] : [[column.title, toValue(text, undefined, column)]],
      ),
    ),
    idealOutput: filled.find(([column]) => column.isIdealOutput)?.[1] ?? null,
  };
}

/** What to send to change cells of a row. */
export function changeOf(row: Row, cells: CellText[]): UpdateDatasetItemInput {
  return inputOf(cells.map(([column, text]) => [column, toValue(text, valueIn(row, column), column)]));
}

/** What to send to give cells of a row back the values that they have in it. */
export function restoreOf(row: Row, cells: CellText[]): UpdateDatasetItemInput {
  return inputOf(cells.map(([column]) => [column, valueIn(row, column) ?? null]));
}

function inputOf(values: [column: GridColumn, value: unknown][]): UpdateDatasetItemInput {
  const ideal = values.find(([column]) => column.isIdealOutput);
  const own = values.filter(([column]) => !column.isIdealOutput).map(([{ title }, value]) => [title, value]);
  return {
    ...(own.length > 0 && { values: Object.fromEntries(own) }),
    ...(ideal && { idealOutput: ideal[1] == null ? null : String(ideal[1]) }),
  };
}
