import {
  type ClipboardEvent,
  type FocusEvent,
  type KeyboardEvent,
  type RefObject,
  useLayoutEffect,
  useState,
} from "react";
import { blockOf } from "./blockText.ts";
import type { GridColumn, Row } from "./cells.ts";
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
const ALL_ROWS = 1_000_000_000;
/** With Ctrl or Cmd. */
const farMoves: Record<string, Move> = {
  ArrowUp: [-ALL_ROWS, 0],
  ArrowDown: [ALL_ROWS, 0],
  Home: [-ALL_ROWS, -1_000],
  End: [ALL_ROWS, 1_000],
};

interface Options {
  frame: RefObject<HTMLDivElement | null>;
  cells: ReturnType<typeof useCells>;
  selected: Row | undefined;
  /** What the selected cell shows. */
  text: string;
  columns: GridColumn[];
  actions: GridActions | null;
  scrollTo: (row: number) => void;
  showColumn: (column: number) => void;
}

/** What the keys and the clipboard do in a grid. */
export function useGridKeys({ frame, cells, selected, text, columns, actions, ...view }: Options) {
  const { at, hasRows, step, editing, begin, stop } = cells;
  const wait = useWaitingKeys(cells, selected);
  const go = (move: Move) => {
    const { row, column } = step(move);
    view.scrollTo(row);
    view.showColumn(column);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (editing) return;
    const isFar = event.ctrlKey || event.metaKey;
    const move = (isFar && farMoves[event.key]) || moves[event.key];
    if (move) go(move);
    else if (!actions) return;
    else if (!selected && hasRows && isPrintable(event)) wait(event.key);
    else if (!selected) return;
    else if (event.key === "Delete") actions.remove(selected);
    else if (event.key === "Backspace") actions.edit(selected, columns[at.column]!, "");
    else if (event.key === "Enter" || event.key === "F2") begin(selected, at.column);
    else if (isPrintable(event)) begin(selected, at.column, event.key);
    else return;
    event.preventDefault();
    event.stopPropagation(); // a letter that is typed into a cell is none of the keys of the console
  };
  /** A clicked cell hands the focus on, which would be lost with it when it is scrolled out of view. */
  const onFocus = ({ target }: FocusEvent) => {
    if (target.role === "gridcell") frame.current?.focus({ preventScroll: true });
  };
  const onPaste = (event: ClipboardEvent) => {
    if (editing || !actions) return;
    event.preventDefault();
    actions.paste(event.clipboardData.getData("text/plain"), at);
  };
  /** Copies the selected cell, but where a part of a text is selected, which the browser copies. */
  const onCopy = (event: ClipboardEvent) => {
    if (editing || !selected || !getSelection()?.isCollapsed) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", blockOf(text));
    if (event.type === "cut") actions?.edit(selected, columns[at.column]!, "");
  };
  /** Editing has ended; after a key, the selection goes on. */
  const end = (move?: Move) => {
    stop();
    if (!move) return;
    frame.current?.focus();
    go(move);
  };
  return { onKeyDown, onFocus, onCopy, onCut: onCopy, onPaste, end };
}

/** The text that is typed into a cell while its row is being read: editing begins with it, unless one goes elsewhere. */
function useWaitingKeys({ at, begin }: ReturnType<typeof useCells>, selected: Row | undefined) {
  const [waiting, setWaiting] = useState({ ...at, typed: "" });
  const isHere = waiting.row === at.row && waiting.column === at.column;
  // In the layout, so that no key is lost between: the field has the focus when the row shows.
  useLayoutEffect(() => {
    if (waiting.typed === "" || (isHere && !selected)) return;
    setWaiting({ ...at, typed: "" });
    if (isHere && selected) begin(selected, at.column, waiting.typed);
  });
  return (key: string) => setWaiting({ ...at, typed: (isHere ? waiting.typed : "") + key });
}

/** AltGr, which types signs such as @ on many keyboards, counts as Ctrl and Alt. */
const isPrintable = (event: KeyboardEvent): boolean => {
  const { key, ctrlKey, metaKey, altKey } = event;
  return key.length === 1 && (event.getModifierState("AltGraph") || !(ctrlKey || metaKey || altKey));
};
