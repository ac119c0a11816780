import { useEffect, useRef } from "react";
import { isTyping } from "../../shell/useKeys.ts";
import { hasBelow, nextError, type Outline } from "./outline.ts";

interface Moves {
  outline: Outline;
  /** The steps that are shown, by their indexes. */
  shown: readonly number[];
  selected: number | undefined;
  collapsed: ReadonlySet<string>;
  onSelect: (n: number) => void;
  onCollapse: (n: number, isCollapsed: boolean) => void;
}

/** The keys of a trace; they are listed in KeysDialog. Arrow keys count where the tree or nothing has the focus. */
export function useTraceKeys(moves: Moves): void {
  const latest = useRef(moves);
  latest.current = moves;
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.defaultPrevented || (event.key.length > 1 && !isInTree(event.target))) return;
      if (move(event.key, latest.current)) event.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
}

const isInTree = (target: EventTarget | null): boolean =>
  target === document.body || (target instanceof Element && target.closest("[role=treegrid]") !== null);

const strides: Record<string, number> = {
  j: 1,
  ArrowDown: 1,
  k: -1,
  ArrowUp: -1,
  PageDown: 15,
  PageUp: -15,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** Does what a key stands for; returns whether it stands for anything. */
function move(key: string, moves: Moves): boolean {
  const { outline, shown, selected, onSelect } = moves;
  if (outline.steps.length === 0) return false;
  const stride = strides[key];
  if (stride !== undefined) {
    const at = selected === undefined ? -1 : shown.indexOf(selected);
    const next = at === -1 && stride < 0 ? 0 : at + stride;
    const to = shown[Math.max(0, Math.min(shown.length - 1, next))];
    if (to !== undefined) onSelect(to);
    return true;
  }
  if (key === "e") {
    const error = nextError(outline, selected ?? -1);
    if (error !== undefined) onSelect(error);
    return true;
  }
  return selected !== undefined && turn(key, selected, moves);
}

/** Left collapses, then goes up; right expands, then goes down. */
function turn(key: string, selected: number, { outline, collapsed, onSelect, onCollapse }: Moves): boolean {
  const isCollapsed = collapsed.has(outline.steps[selected]!.id);
  if (key === "ArrowLeft") {
    const above = outline.aboves[selected];
    if (hasBelow(outline, selected) && !isCollapsed) onCollapse(selected, true);
    else if (above !== undefined) onSelect(above);
    return true;
  }
  if (key === "ArrowRight") {
    if (isCollapsed) onCollapse(selected, false);
    else if (hasBelow(outline, selected)) onSelect(selected + 1);
    return true;
  }
  return false;
}
