import { type MouseEvent, type PointerEvent, useRef, useState } from "react";

interface Brush {
  /** Which column is at an x of the window. */
  indexAt: (clientX: number) => number;
  onBrush: ((first: number, last: number) => void) | undefined;
}

type Range = [first: number, last: number];

/** Dragging over columns chooses them; the capture of the pointer keeps the drag from being a click at its end. */
export function useBrush({ indexAt, onBrush }: Brush) {
  const drag = useRef<{ begin: number; isMoving: boolean }>(null);
  const [chosen, setChosen] = useState<Range | null>(null);
  if (!onBrush) return { chosen: null, handlers: {} };
  const rangeTo = (begin: number, clientX: number): Range => {
    const now = indexAt(clientX);
    return [Math.min(begin, now), Math.max(begin, now)];
  };
  const end = () => {
    drag.current = null;
    setChosen(null);
  };
  const handlers = {
    onPointerDown: ({ button, clientX }: PointerEvent) => {
      drag.current = button === 0 ? { begin: indexAt(clientX), isMoving: false } : null;
    },
    onPointerMove: ({ buttons, clientX, currentTarget, pointerId }: PointerEvent) => {
      if (buttons === 0 && drag.current) end(); // it was released outside
      if (!drag.current) return;
      const range = rangeTo(drag.current.begin, clientX);
      if (!drag.current.isMoving && range[0] === range[1]) return;
      drag.current.isMoving = true;
      currentTarget.setPointerCapture(pointerId);
      setChosen(range);
    },
    // It may come before the last move is drawn, so the range follows from where the pointer is.
    onPointerUp: ({ clientX }: PointerEvent) => {
      if (drag.current?.isMoving) onBrush(...rangeTo(drag.current.begin, clientX));
      end();
    },
    onPointerCancel: end,
    // The columns are links, which browsers would drag away.
    onDragStart: (event: MouseEvent) => event.preventDefault(),
  };
  return { chosen, handlers };
}
