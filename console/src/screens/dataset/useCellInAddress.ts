import { getRouteApi } from "@tanstack/react-router";
import { useQuickPart } from "../../parts/useQuickPart.ts";

const route = getRouteApi("/shell/datasets/$slug");

/** Where a cell is, from 0. */
export interface Cell {
  row: number;
  column: number;
}

/** The cell that an address names by its row and its column, such as `12.3`, each from 1. */
export function cellIn(text: string | undefined): Cell | null {
  const [, row, column] = /^([1-9]\d{0,8})\.([1-9]\d{0,3})$/.exec(text ?? "") ?? [];
  return row && column ? { row: Number(row) - 1, column: Number(column) - 1 } : null;
}

/** The selected cell, which is in the address a moment later. */
export function useCellInAddress() {
  const { cell } = route.useSearch();
  const navigate = route.useNavigate();
  const [text, setText] = useQuickPart(
    cell,
    (next) => void navigate({ search: (now) => ({ ...now, cell: next }), replace: true, resetScroll: false }),
  );
  const select = ({ row, column }: Cell) => setText(`${row + 1}.${column + 1}`);
  return [cellIn(text), select] as const;
}
