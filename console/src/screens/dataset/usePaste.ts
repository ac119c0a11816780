import { useRef, useState } from "react";
import { sentenceOf } from "../../parts/Notice.tsx";
import { placeBlock } from "./block.ts";
import { parseBlock } from "./blockText.ts";
import type { GridColumn } from "./cells.ts";
import { type Attempt, type Part, type Pasted, type Pasting, partsOf } from "./pasting.ts";
import type { Report } from "./Report.tsx";
import type { Progress } from "./StoringProgress.tsx";
import { pasteAgain, takeBack } from "./takeBack.ts";
import type { Storing } from "./useStoring.ts";

const NOTHING = { changed: 0, added: 0, stored: 0, refused: [], problem: null };

/** Pastes blocks of spreadsheets over cells and the edits of them that failed, and reports what became of each row. */
export function usePaste(storing: Storing, columns: GridColumn[], dropFailed: Pasting["dropFailed"]) {
  const [report, setReport] = useState<Report | null>(null);
  const [progress, setProgress] = useState<Progress | null>(null);
  const attempt = useRef<Attempt>({ request: "", key: "" });
  const isCancelled = useRef(false);
  const { inTurn, done, onStored } = storing;
  /** Stores part after part; returns why it stopped before the last one. */
  const storeParts = async (parts: Part[], pasted: Pasted): Promise<string | null> => {
    const total = parts.reduce((sum, { count }) => sum + count, 0);
    let stored = 0;
    for (const { index, count, store } of parts) {
      if (isCancelled.current) return "Cancelled.";
      setProgress({ title: "Paste", share: stored / total, stored });
      const error = await store(pasted);
      if (error)
        return `Stopped at row ${index + 1}: ${sentenceOf(error)} Paste again at the same cell to go on.`;
      stored += count;
    }
    return null;
  };
  const paste = (text: string, at: { row: number; column: number }) =>
    inTurn(async () => {
      isCancelled.current = false;
      const block = parseBlock(text);
      if (block.length === 0) return setReport({ ...NOTHING, problem: "There is no text to paste." });
      setReport(null);
      const areRead = await storing.rows.read({ from: at.row, to: at.row + block.length });
      if (!areRead) return setReport({ ...NOTHING, problem: "The rows below cannot be read: try again." });
      const placed = placeBlock(block, at, storing.rows.now().list, columns);
      const pasted: Pasted = { changed: [], added: [], refused: [], warning: leftOutText(placed.leftOut) };
      const parts = partsOf(placed, { storing, attempt: attempt.current, dropFailed });
      const problem = (await storeParts(parts, pasted)) ?? pasted.warning;
      setProgress(null);
      const { changed, added, refused } = pasted;
      setReport({ ...NOTHING, changed: changed.length, added: added.length, refused, problem });
      if (changed.length + added.length > 0)
        done({
          name: "the paste",
          undo: () => takeBack(storing, pasted),
          redo: pasteAgain(storing, pasted),
        });
      onStored();
    });
  const cancel = () => {
    isCancelled.current = true;
  };
  return { paste, progress, cancel, report, closeReport: () => setReport(null) };
}

function leftOutText(columns: number): string | null {
  if (columns === 0) return null;
  return columns === 1
    ? "1 column beyond the last one was left out."
    : `${columns} columns beyond the last one were left out.`;
}
