import { useRef } from "react";
import { type CellText, restoreOf } from "./block.ts";
import type { GridColumn, Row } from "./cells.ts";
import {
  deleteRow,
  isColumnGone,
  isRowGone,
  readWhole,
  refuseTakenKey,
  type WholeRow,
} from "./rowChanges.ts";
import { addAgain, deleteAgain, deletedOf } from "./takeBack.ts";
import type { Storing } from "./useStoring.ts";

/** Edits, adds and deletes rows one by one, and undoes and redoes changes. */
export function useRowChanges(storing: Storing) {
  const { rows, onStored, inTurn, store, current, done, takeStep } = storing;
  const deleted = useRef(new Map<string, WholeRow>());
  const edit = (row: Row, column: GridColumn, text: string) =>
    inTurn(async () => {
      const cells: CellText[] = [[column, text]];
      const before = current(row);
      const outcome = await store(before, cells);
      if (outcome.data)
        done({
          name: `the edit of “${column.title}”`,
          undo: () => store(before, cells, restoreOf(before, cells)),
          redo: () => store(before, cells),
        });
      else if (isRowGone(outcome.error)) rows.remove(before.id);
      else if (!isColumnGone(outcome.error)) return outcome;
      onStored();
      return outcome;
    });
  const added = (row: Row) => {
    rows.append(row);
    done({
      name: "the new row",
      undo: () => deleteAgain(storing, row.id),
      redo: addAgain(storing, [deletedOf(row)]),
    });
    onStored();
  };
  const remove = (row: Row) => inTurn(() => removeRow(storing, deleted.current, row));
  return {
    edit,
    added,
    remove,
    takeStep: (kind: "undo" | "redo") => void inTurn(() => takeStep(kind)).then(onStored),
  };
}

/** Deletes a row. What rows held is kept for the next attempt, as one whose answer is lost may have deleted them. */
async function removeRow(storing: Storing, deleted: Map<string, WholeRow>, row: Row) {
  const { client, slug, rows, onStored, done, idOf } = storing;
  const id = idOf(row.id);
  const whole = await readWhole(client, slug, id);
  if (whole.error) return { error: whole.error };
  if (whole.data) deleted.set(id, whole.data);
  const { error } = await deleteRow(client, id);
  if (error) return { error };
  rows.remove(id);
  onStored();
  const held = deleted.get(id);
  deleted.delete(id);
  if (held)
    done({
      ...{ name: "the deletion", note: "; the row stands at the end now" },
      undo: addAgain(storing, [{ id, item: held.item }], () => refuseTakenKey(client, slug, held)),
      redo: () => deleteAgain(storing, id),
    });
  return {};
}
