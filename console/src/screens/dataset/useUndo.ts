import { useCallback, useRef } from "react";
import { sentenceOf } from "../../parts/Notice.tsx";
import { useToast } from "../../parts/Toast.tsx";
import { isTemporary, type Outcome } from "./rowChanges.ts";

/** A change that is stored, how it is taken back, and how it is then done again. */
export interface Step {
  /** What it was, such as "the edit". */
  name: string;
  /** What to know once it is undone. */
  note?: string;
  undo: () => Promise<Taken>;
  redo: () => Promise<Taken>;
}

/** What became of a step, and what of it was left out although it is done. */
export type Taken = Outcome<unknown> & { warning?: string | null };

const MAX_STEPS = 100;
const words = { undo: "undone", redo: "redone" };

/** The last changes of a dataset, to be taken back and done again one by one while its screen is open. */
export function useUndo() {
  const steps = useRef({ undo: [] as Step[], redo: [] as Step[] });
  const ids = useRef(new Map<string, string>());
  const toast = useToast();
  const done = useCallback((step: Step) => {
    steps.current = { undo: [...steps.current.undo, step].slice(-MAX_STEPS), redo: [] };
  }, []);
  const takeStep = useCallback(
    async (kind: "undo" | "redo") => {
      const { [kind]: from, [kind === "undo" ? "redo" : "undo"]: to } = steps.current;
      const step = from.pop();
      if (!step) return toast(`There is nothing to ${kind}`, "failed");
      const { data, error, warning } = await step[kind]();
      if (data !== undefined) {
        to.push(step);
        const done = kind === "undo" ? `Undone: ${step.name}${step.note ?? ""}` : `Redone: ${step.name}`;
        return warning ? toast(`${done}. ${warning}`, "failed") : toast(done);
      }
      if (isTemporary(error)) from.push(step); // any other error would come again, before all earlier steps
      toast(error ? sentenceOf(error) : `It cannot be ${words[kind]}`, "failed");
    },
    [toast],
  );
  /** A row that came back has another id, which earlier steps do not know. */
  const renamed = useCallback((from: string, to: string) => void ids.current.set(from, to), []);
  const idOf = useCallback((id: string): string => {
    let now = id;
    for (let next = ids.current.get(now); next; next = ids.current.get(now)) now = next;
    return now;
  }, []);
  return { done, takeStep, renamed, idOf };
}
