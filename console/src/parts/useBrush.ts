import { type MouseEvent, type PointerEvent, useRef, useState } from "react";

interface Brush {
  /** Which column is at an x of the window. */
  indexAt: (clientX: number) => number;
  onBrush: ((first: number, last: number) => void) | undefined;
}

/** Dragging over columns chooses them; the capture of the pointer keeps the drag from being a click at its end. */
export function useBrush({ indexAt, onBrush }: Brush) {
  const begin = useRef<number>(null);
  const [chosen, setChosen] = useState<[first: number, last: number] | null>(null);
  if (!onBrush) return { chosen: null, handlers: {} };
  const handlers = {
    onPointerDown: ({ button, clientX }: PointerEvent) => {
      begin.current = button === 0 ? indexAt(clientX) : null;
    },
    onPointerMove: ({ buttons, clientX, currentTarget, pointerId }: PointerEvent) => {
      if (buttons === 0) begin.current = null; // it was released outside
      if (begin.current === null) return;
      const now = indexAt(clientX);
      if (!chosen && now === begin.current) return;
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
    // The columns are links, which browsers would drag away.
    onDragStart: (event: MouseEvent) => event.preventDefault(),
  };
  return { chosen, handlers };
}
