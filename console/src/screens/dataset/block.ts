import type { DatasetItemInput, UpdateDatasetItemInput } from "../../gql/graphql.ts";
import { type GridColumn, type Row, toValue, valueIn } from "./cells.ts";
import { entryAt, type Sparse } from "./runs.ts";

/** A cell's column with the text for it. */
export type CellText = [column: GridColumn, text: string];

export interface Placed {
  /** The rows that are there, with the cells that go into them. */
  updates: { index: number; row: Row; cells: CellText[] }[];
  /** Past the end, the rows to add. */
  additions: { index: number; item: DatasetItemInput; characters: number }[];
  /** How many columns of the block lie beyond the last one and are left out. */
  leftOut: number;
}

/** Where the cells of a block go when it begins at a cell. */
export function placeBlock(
  block: string[][],
  at: { row: number; column: number },
  rows: Sparse<Row>,
  columns: GridColumn[],
): Placed {
  const placed: Placed = { updates: [], additions: [], leftOut: 0 };
  block.forEach((texts, line) => {
    const index = at.row + line;
    const row = entryAt(rows, index);
    const cells = columns.slice(at.column).flatMap((column, n): CellText[] => {
      const text = texts[n];
      return text === undefined ? [] : [[column, text]];
    });
    const width = texts.findLastIndex((text) => text !== "") + 1;
    placed.leftOut = Math.max(placed.leftOut, at.column + width - columns.length);
    const characters = cells.reduce((sum, [, text]) => sum + text.length, 0);
    if (!row) placed.additions.push({ index, item: itemOf(cells), characters });
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
