import { useEffect, useRef } from "react";
import { isTyping } from "../../shell/useKeys.ts";

/** Undoes by Ctrl Z or Cmd Z and redoes with Shift or by Ctrl Y, but for the texts of fields, as the browser does that. */
export function useUndoKey(takeStep: (kind: "undo" | "redo") => void) {
  const latest = useRef(takeStep);
  latest.current = takeStep;
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { ctrlKey, metaKey, shiftKey, target } = event;
      const key = event.key.toLowerCase(); // with Shift or Caps Lock, it is a capital
      if (!(ctrlKey || metaKey) || !["z", "y"].includes(key) || isTyping(target)) return;
      event.preventDefault();
      latest.current(key === "y" || shiftKey ? "redo" : "undo");
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
