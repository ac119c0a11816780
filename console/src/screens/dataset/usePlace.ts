import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useSavedScroll } from "../../parts/useSavedScroll.ts";
import { cellIn } from "./useCellInAddress.ts";

const route = getRouteApi("/shell/datasets/$slug");

/** Where a grid begins: where the reader left it, or at the cell of the address. */
export interface Place {
  scrollId: string;
  /** How far it was scrolled; undefined on a first visit. */
  saved: number | undefined;
  /** The row of the address; null on a return. */
  row: number | null;
}

export function usePlace(slug: string, version: string | undefined): Place {
  const scrollId = `rows of ${slug} ${version ?? ""}`;
  const saved = useSavedScroll(scrollId);
  const { cell } = route.useSearch();
  const [row] = useState(() => cellIn(cell)?.row ?? 0);
  return { scrollId, saved, row: saved === undefined ? row : null };
}
