import { useState } from "react";
import type { Row } from "./cells.ts";
import { entryAt, entryWith, indexOf, type Sparse } from "./runs.ts";
import { type Cell, useCellInAddress } from "./useCellInAddress.ts";

/** By how much the selection goes on. */
export type Move = [rows: number, columns: number];

/** The cell that is edited, wherever the selection goes meanwhile. */
export interface Editing {
  /** As it was, with where it stood. */
  row: Row;
  index: number;
  column: number;
  /** The key that began it, which stands for the value. */
  typed?: string;
}

/** Which cell is selected, as the address says, and which one is edited. */
export function useCells(list: Sparse<Row>, columnCount: number) {
  const [chosen, setAt] = useCellInAddress();
  const at = {
    row: within(chosen?.row ?? 0, list.count),
    column: within(chosen?.column ?? 0, columnCount),
  };
  const [editing, setEditing] = useState<Editing | null>(null);
  const found = editing ? indexOf(list, editing.row.id) : -1;
  // An edit goes on where its row is not held any more.
  const edited = editing && found === -1 ? editing.index : found;
  const rowAt = (index: number): Row | undefined =>
    editing && index === edited ? (entryWith(list, editing.row.id) ?? editing.row) : entryAt(list, index);
  const begin = (row: Row, column: number, typed?: string) =>
    setEditing({ row, index: indexOf(list, row.id), column, ...(typed && { typed }) });
  /** Moves the selection, and returns where it then is. */
  const step = ([rowStep, columnStep]: Move): Cell => {
    const cell = {
      row: within(at.row + rowStep, list.count),
      column: within(at.column + columnStep, columnCount),
    };
    setAt(cell);
    return cell;
  };
  return {
    at,
    hasRows: list.count > 0,
    setAt,
    step,
    rowAt,
    editing,
    edited,
    begin,
    stop: () => setEditing(null),
  };
}

const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
