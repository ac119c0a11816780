import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import { useSavedScroll } from "../../parts/useSavedScroll.ts";
import { cellIn } from "./useCellInAddress.ts";
import { ROW_PX } from "./useRowsInView.ts";

const route = getRouteApi("/shell/datasets/$slug");

/** Where a grid begins: where the reader left it, or at the cell of the address. */
export interface Place {
  scrollId: string;
  /** The row to go to; null on a return, which scrolls back. */
  row: number | null;
  /** How many rows reach there. */
  rowCount: number;
}

/** More than a screen shows, so that the place need not be at its end. */
const ROWS_BELOW = 60;

export function usePlace(slug: string, version: string | undefined): Place {
  const scrollId = `rows of ${slug} ${version ?? ""}`;
  const saved = useSavedScroll(scrollId);
  const { cell } = route.useSearch();
  const [row] = useState(() => cellIn(cell)?.row ?? 0);
  const firstShown = saved === undefined ? row : Math.floor(saved / ROW_PX);
  const isBegin = firstShown === 0;
  return {
    scrollId,
    row: saved === undefined && row > 0 ? row : null,
    rowCount: isBegin ? 0 : Math.max(firstShown + ROWS_BELOW, row + 1),
  };
}

/** Goes to the row of the place as soon as it is read. */
export function useArrival({ row }: Place, count: number, scrollTo: (row: number) => void): void {
  const isThere = useRef(row === null);
  const isRead = row !== null && row < count;
  // biome-ignore lint/correctness/useExhaustiveDependencies: it arrives once
  useEffect(() => {
    if (!isRead || isThere.current) return;
    isThere.current = true;
    scrollTo(row);
  }, [isRead]);
}
