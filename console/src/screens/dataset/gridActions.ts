import type { GridColumn, Row } from "./cells.ts";

/** What a grid does to its rows. */
export interface GridActions {
  edit: (row: Row, column: GridColumn, text: string) => void;
  /** Forgets an edit that could not be stored. */
  takeBack: (row: Row, column: GridColumn) => void;
  remove: (row: Row) => void;
  /** Takes a text that was pasted at a cell. */
  paste: (text: string, at: { row: number; column: number }) => void;
  changeColumns: () => void;
}
