import type { ClipboardEvent, KeyboardEvent, RefObject } from "react";
import type { Row } from "./cells.ts";
import type { GridActions } from "./gridActions.ts";
import type { Move, useCells } from "./useCells.ts";

const moves: Record<string, Move> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-12, 0],
  PageDown: [12, 0],
  Home: [0, -1_000],
  End: [0, 1_000],
};

interface Options {
  frame: RefObject<HTMLDivElement | null>;
  cells: ReturnType<typeof useCells>;
  selected: Row | undefined;
  actions: GridActions | null;
  scrollTo: (row: number) => void;
}

/** What the keys and the clipboard do in a grid. */
export function useGridKeys({ frame, cells, selected, actions, scrollTo }: Options) {
  const { at, step, editing, begin, stop } = cells;
  const onKeyDown = (event: KeyboardEvent) => {
    if (editing) return;
    const move = moves[event.key];
    if (move) scrollTo(step(move));
    else if (!actions) return;
    else if (!selected) return;
    else if (event.key === "Delete") actions.remove(selected);
    else if (event.key === "Enter" || event.key === "F2") begin(selected, at.column);
    else if (isPrintable(event)) begin(selected, at.column, event.key);
    else return;
    event.preventDefault();
    event.stopPropagation(); // a letter that is typed into a cell is none of the keys of the console
  };
  const onPaste = (event: ClipboardEvent) => {
    if (editing || !actions) return;
    event.preventDefault();
    actions.paste(event.clipboardData.getData("text/plain"), at);
  };
  /** Editing has ended; after a key, the selection goes on. */
  const end = (move?: Move) => {
    stop();
    if (!move) return;
    frame.current?.focus();
    scrollTo(step(move));
  };
  return { onKeyDown, onPaste, end };
}

const isPrintable = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean =>
  key.length === 1 && !ctrlKey && !metaKey && !altKey;
