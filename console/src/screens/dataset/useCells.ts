import { useState } from "react";
import type { Row } from "./cells.ts";
import { useCellInAddress } from "./useCellInAddress.ts";

/** By how much the selection goes on. */
export type Move = [rows: number, columns: number];

/** The cell that is edited, wherever the selection goes meanwhile. */
export interface Editing {
  rowId: string;
  column: number;
  /** The key that began it, which stands for the value. */
  typed?: string;
}

/** Which cell is selected, as the address says, and which one is edited. */
export function useCells(rows: Row[], columnCount: number) {
  const [chosen, setAt] = useCellInAddress();
  const at = {
    row: within(chosen?.row ?? 0, rows.length),
    column: within(chosen?.column ?? 0, columnCount),
  };
  const [editing, setEditing] = useState<Editing | null>(null);
  const edited = editing ? rows.findIndex(({ id }) => id === editing.rowId) : -1;
  const begin = ({ id }: Row, column: number, typed?: string) =>
    setEditing({ rowId: id, column, ...(typed && { typed }) });
  /** Moves the selection, and returns the row where it then is. */
  const step = ([rowStep, columnStep]: Move): number => {
    const row = within(at.row + rowStep, rows.length);
    setAt({ row, column: within(at.column + columnStep, columnCount) });
    return row;
  };
  return { at, setAt, step, editing, edited, begin, stop: () => setEditing(null) };
}

const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));
