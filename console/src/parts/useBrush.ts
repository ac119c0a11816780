import { type MouseEvent, type PointerEvent, useRef, useState } from "react";

interface Brush {
  /** Which column is at an x of the window. */
  indexAt: (clientX: number) => number;
  onBrush: ((first: number, last: number) => void) | undefined;
}

/** Dragging over columns chooses them; a click without a drag stays one. */
export function useBrush({ indexAt, onBrush }: Brush) {
  const begin = useRef<number>(null);
  const isDragged = useRef(false);
  const [chosen, setChosen] = useState<[first: number, last: number] | null>(null);
  if (!onBrush) return { chosen: null, handlers: {} };
  const handlers = {
    onPointerDown: ({ button, clientX }: PointerEvent) => {
      isDragged.current = false;
      begin.current = button === 0 ? indexAt(clientX) : null;
    },
    onPointerMove: ({ clientX, currentTarget, pointerId }: PointerEvent) => {
      if (begin.current === null) return;
      const now = indexAt(clientX);
      if (!isDragged.current && now === begin.current) return;
      isDragged.current = true;
      currentTarget.setPointerCapture(pointerId);
      setChosen([Math.min(begin.current, now), Math.max(begin.current, now)]);
    },
    onPointerUp: () => {
      begin.current = null;
      if (chosen) onBrush(...chosen);
      setChosen(null);
    },
    onPointerCancel: () => {
      begin.current = null;
      setChosen(null);
    },
    // The columns are links, which browsers would drag, and follow at the end.
    onDragStart: (event: MouseEvent) => event.preventDefault(),
    onClickCapture: (event: MouseEvent) => {
      if (isDragged.current) event.preventDefault();
      if (isDragged.current) event.stopPropagation();
    },
  };
  return { chosen, handlers };
}
