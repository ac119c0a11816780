import { type RefObject, useEffect, useState } from "react";
import type { Place } from "./usePlace.ts";

/** Shows the column of the address at first; returns what shows another one. */
export function useColumnInView(frame: RefObject<HTMLElement | null>, place: Place, column: number) {
  const isReturn = place.saved !== undefined;
  const [first] = useState(column);
  useEffect(() => {
    if (!isReturn) showColumn(frame.current, first);
  }, [frame, isReturn, first]);
  return (next: number) => showColumn(frame.current, next);
}

/** Scrolls a grid sideways as far as it takes to see a column whole, beside the numbers of the rows. */
function showColumn(frame: HTMLElement | null, column: number): void {
  const [numbers, ...heads] = frame?.querySelectorAll('[role="columnheader"]') ?? [];
  const head = heads[column];
  if (!frame || !numbers || !head) return;
  const { left, right } = head.getBoundingClientRect();
  const missingLeft = numbers.getBoundingClientRect().right - left;
  const missingRight = right - frame.getBoundingClientRect().left - frame.clientLeft - frame.clientWidth;
  if (missingLeft > 0) frame.scrollLeft -= missingLeft;
  else if (missingRight > 0) frame.scrollLeft += Math.min(missingRight, -missingLeft);
}
