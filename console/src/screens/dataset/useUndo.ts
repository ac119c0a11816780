import { useCallback, useRef } from "react";
import { sentenceOf } from "../../parts/Notice.tsx";
import { useToast } from "../../parts/Toast.tsx";
import { isTemporary, type Outcome } from "./rowChanges.ts";

/** A change that is stored, and how it is taken back. */
export interface Step {
  /** What it was, such as "the edit". */
  name: string;
  undo: () => Promise<Outcome<unknown>>;
}

const MAX_STEPS = 100;

/** The last changes of a dataset, to be taken back one by one while its screen is open. */
export function useUndo() {
  const steps = useRef<Step[]>([]);
  const ids = useRef(new Map<string, string>());
  const toast = useToast();
  const done = useCallback((step: Step) => {
    steps.current = [...steps.current, step].slice(-MAX_STEPS);
  }, []);
  const undo = useCallback(async () => {
    const step = steps.current.pop();
    if (!step) return toast("There is nothing to undo", "failed");
    const { data, error } = await step.undo();
    if (data !== undefined) return toast(`Undone: ${step.name}`);
    if (isTemporary(error)) steps.current.push(step); // any other error would come again, before all earlier steps
    toast(error ? sentenceOf(error) : "It cannot be undone", "failed");
  }, [toast]);
  /** A row that came back has another id, which earlier steps do not know. */
  const renamed = useCallback((from: string, to: string) => void ids.current.set(from, to), []);
  const idOf = useCallback((id: string): string => {
    let now = id;
    for (let next = ids.current.get(now); next; next = ids.current.get(now)) now = next;
    return now;
  }, []);
  return { done, undo, renamed, idOf };
}
