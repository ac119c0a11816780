import { useState } from "react";
import { sentenceOf } from "../../parts/Notice.tsx";
import { type Placed, parseBlock, placeBlock, restoreOf } from "./block.ts";
import { type GridColumn, type Row, toText, valueIn } from "./cells.ts";
import type { Report } from "./Report.tsx";
import { addRows, deleteRow, type Outcome } from "./rowChanges.ts";
import type { Storing } from "./useStoring.ts";

const BATCH = 200;
const NOTHING = { changed: 0, added: 0, stored: 0, refused: [], problem: null };

/** Pastes blocks of spreadsheets over cells and the edits of them that failed, and reports what became of each row. */
export function usePaste(storing: Storing, columns: GridColumn[], dropFailed: DropFailed) {
  const [report, setReport] = useState<Report | null>(null);
  const { inTurn, done, onStored } = storing;
  const paste = (text: string, at: { row: number; column: number }) =>
    inTurn(async () => {
      const { rows, hasMore } = storing.rows.now();
      const { updates, additions } = placeBlock(parseBlock(text), at, rows, columns);
      if (additions.length > 0 && hasMore)
        return setReport({
          ...NOTHING,
          problem: "It reaches below the rows that are read: scroll down first.",
        });
      const changed = await storeUpdates(storing, updates, dropFailed);
      const added = await storeAdditions(storing, additions);
      const refused = [...changed.refused, ...added.refused];
      setReport({ ...NOTHING, changed: changed.stored.length, added: added.stored.length, refused });
      if (changed.stored.length + added.stored.length === 0) return;
      done({ name: "the paste", undo: () => takeBack(storing, changed.stored, added.stored) });
      onStored();
    });
  return { paste, report, closeReport: () => setReport(null) };
}

interface Stored<Kind> {
  stored: Kind[];
  refused: Report["refused"];
}

type Update = Placed["updates"][number];
type DropFailed = (row: Row, columns: GridColumn[]) => void;

/** Stores the cells that differ. */
async function storeUpdates(
  { store }: Storing,
  updates: Update[],
  dropFailed: DropFailed,
): Promise<Stored<Update>> {
  const result: Stored<Update> = { stored: [], refused: [] };
  for (const { index, row, cells } of updates) {
    const changed = cells.filter(([column, text]) => text !== toText(valueIn(row, column)));
    const { data, error } = changed.length > 0 ? await store(row, changed) : { data: row };
    if (data) {
      const columns = cells.map(([column]) => column);
      dropFailed(row, columns);
      if (changed.length > 0) result.stored.push({ index, row, cells: changed });
    } else if (error) result.refused.push({ row: index + 1, message: sentenceOf(error) });
  }
  return result;
}

async function storeAdditions(
  { client, slug, rows }: Storing,
  additions: Placed["additions"],
): Promise<Stored<Row>> {
  const result: Stored<Row> = { stored: [], refused: [] };
  for (let from = 0; from < additions.length; from += BATCH) {
    const batch = additions.slice(from, from + BATCH);
    const items = batch.map(({ item }) => item);
    const { data, error } = await addRows(client, slug, items);
    const stored = (data?.rows ?? []).filter((row) => row !== null);
    stored.forEach(rows.append);
    result.stored.push(...stored);
    for (const { index, message } of data?.errors ?? [])
      result.refused.push({ row: batch[index]!.index + 1, message });
    if (error)
      for (const { index } of batch) result.refused.push({ row: index + 1, message: sentenceOf(error) });
  }
  return result;
}

async function takeBack(
  { client, rows, store, idOf }: Storing,
  changed: Update[],
  added: Row[],
): Promise<Outcome<unknown>> {
  for (const { row, cells } of changed) {
    const { data, error } = await store(row, cells, restoreOf(row, cells));
    if (!data) return { error };
  }
  for (const row of added) {
    const id = idOf(row.id);
    const { data, error } = await deleteRow(client, id);
    const isGone = error?.graphQLErrors.some(({ extensions }) => extensions.code === "ROW_NOT_FOUND");
    if (!data && !isGone) return { error };
    rows.remove(id);
  }
  return { data: null };
}
