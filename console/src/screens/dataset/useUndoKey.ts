import { useEffect, useRef } from "react";
import { isTyping } from "../../shell/useKeys.ts";

/** Undoes by Ctrl Z or Cmd Z, but for the texts of fields, which the browser undoes itself. */
export function useUndoKey(undo: () => void) {
  const latest = useRef(undo);
  latest.current = undo;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, shiftKey, target } = event;
      if (key !== "z" || !(ctrlKey || metaKey) || shiftKey) return;
      if (isTyping(target)) return;
      event.preventDefault();
      latest.current();
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
