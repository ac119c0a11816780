import { type CellText, restoreOf } from "./block.ts";
import type { GridColumn, Row } from "./cells.ts";
import { addRows, deleteRow, type Outcome } from "./rowChanges.ts";
import type { Storing } from "./useStoring.ts";

/** Edits and deletes rows one by one, and undoes the last change. */
export function useRowChanges({ client, slug, rows, onStored, inTurn, store, current, ...history }: Storing) {
  const { done, undo, renamed, idOf } = history;
  const edit = (row: Row, column: GridColumn, text: string) =>
    inTurn(async () => {
      const cells: CellText[] = [[column, text]];
      const before = current(row);
      const outcome = await store(before, cells);
      if (!outcome.data) return outcome;
      done({
        name: `the edit of “${column.title}”`,
        undo: () => store(before, cells, restoreOf(before, cells)),
      });
      onStored();
      return outcome;
    });
  const remove = (row: Row) =>
    inTurn(async () => {
      const { data: item, error } = await deleteRow(client, idOf(row.id));
      if (!item) return { error };
      rows.remove(row.id);
      const key = crypto.randomUUID(); // of all tries, as one whose answer is lost may have stored the row
      const addAgain = async (): Promise<Outcome<unknown>> => {
        const added = await addRows(client, slug, [item], key);
        const [back] = added.data?.rows ?? [];
        if (!back) return { error: added.error };
        renamed(idOf(row.id), back.id);
        rows.append(back);
        return { data: back };
      };
      done({ name: "the deletion; the row stands at the end now", undo: addAgain });
      onStored();
      return { data: item };
    });
  return { edit, remove, undo: () => void inTurn(undo).then(onStored) };
}
