import { useVirtualizer } from "@tanstack/react-virtual";
import { type RefObject, useEffect, useLayoutEffect } from "react";
import type { Range } from "./runs.ts";
import type { Place } from "./usePlace.ts";

const ROW_PX = 34;
const HEAD_PX = 34;
/** Firefox draws no part that is higher than 17.9 million pixels. */
const MAX_HEIGHT_PX = 15_000_000;
/** In pixels of the screen, of which a large zoom takes many: Chromium draws 33.5 million, Safari likewise. */
const MAX_SCREEN_HEIGHT_PX = 30_000_000;
const OVERSCAN = 12;
/** Rows above that of the address. */
const ROWS_ABOVE = 10;

interface View {
  count: number;
  /** The index of the edited row, or -1. */
  edited: number;
  place: Place;
  onView: (rows: Range) => void;
}

/** A row to render, and where. */
export interface ShownRow {
  index: number;
  top: number;
}

/**
 * The rows to render, the edited one always among them. Where the rows are higher than a browser can draw, from 441,176 rows
 * on, a scroll of less than the height of a row goes on by one.
 */
export function useRowsInView(frame: RefObject<HTMLDivElement | null>, view: View) {
  const { count, edited, place, onView } = view;
  const maxHeight = Math.min(MAX_HEIGHT_PX, MAX_SCREEN_HEIGHT_PX / devicePixelRatio);
  const step = Math.min(ROW_PX, maxHeight / Math.max(1, count));
  const visible = visibleIn(frame.current);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => step,
    initialOffset: place.saved ?? Math.max(0, (place.row ?? 0) - ROWS_ABOVE) * step,
    // Else the last rows could not be scrolled to; the frame shows the head beside the list.
    paddingEnd: HEAD_PX + (step < ROW_PX ? visible * (ROW_PX - step) + step : 0),
    rangeExtractor: ({ startIndex }) =>
      indicesFrom(startIndex, { count, edited, visible: visibleIn(frame.current) }),
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: by itself, the list does not see another size
  useLayoutEffect(() => virtual.measure(), [virtual, step]);
  const first = virtual.range?.startIndex ?? 0;
  const top = first * step;
  const shown = virtual
    .getVirtualItems()
    .map(({ index }): ShownRow => ({ index, top: top + (index - first) * ROW_PX }));
  const last = Math.min(count, first + Math.ceil(visible) + 1);
  const isMeasured = virtual.range !== null;
  useEffect(() => {
    if (isMeasured) onView({ from: first, to: last });
  }, [onView, isMeasured, first, last]);
  /** Scrolls as far as it takes to see a row whole. */
  const scrollTo = (row: number) => {
    const { current } = frame;
    if (!current) return;
    const lowest = Math.ceil(row + 1 - visibleIn(current)) * step;
    const highest = row * step;
    if (current.scrollTop < lowest) current.scrollTop = Math.ceil(lowest);
    else if (current.scrollTop > highest) current.scrollTop = highest;
  };
  return { shown, scrollTo, height: virtual.getTotalSize() - HEAD_PX };
}

/** How many rows the frame shows, with fractions. */
const visibleIn = (frame: HTMLElement | null) => Math.max(0, (frame?.clientHeight ?? 0) - HEAD_PX) / ROW_PX;

interface Indices {
  count: number;
  edited: number;
  visible: number;
}

function indicesFrom(start: number, { count, edited, visible }: Indices): number[] {
  const from = Math.max(0, start - OVERSCAN);
  const to = Math.min(count, start + Math.ceil(visible) + 1 + OVERSCAN);
  const indices = Array.from({ length: to - from }, (_, n) => from + n);
  return edited === -1 || indices.includes(edited) ? indices : [...indices, edited];
}
