import type { CombinedError } from "urql";
import { sentenceOf } from "../../parts/Notice.tsx";
import { batchesOf } from "./batches.ts";
import type { Placed } from "./block.ts";
import { type GridColumn, type Row, textOf } from "./cells.ts";
import type { Report } from "./Report.tsx";
import { addRows, isTemporary, sendPatiently } from "./rowChanges.ts";
import type { Storing } from "./useStoring.ts";

type Update = Placed["updates"][number];
type Addition = Placed["additions"][number];

/** What became of a block. */
export interface Pasted {
  changed: Update[];
  added: Row[];
  refused: Report["refused"];
  /** What else to know of it, such as that cells were left out. */
  warning: string | null;
}

/** The last batch of rows to add: its key goes with another try of the same rows, as Gabbro may have stored them. */
export interface Attempt {
  request: string;
  key: string;
}

export interface Pasting {
  storing: Storing;
  attempt: Attempt;
  /** Forgets the edits of cells that failed. */
  dropFailed: (row: Row, columns: GridColumn[]) => void;
}

/** A part of a block: its rows, and how to store them. Returns an error that those of the next part would meet as well. */
export interface Part {
  /** The index of its first row. */
  index: number;
  count: number;
  store: (pasted: Pasted) => Promise<CombinedError | undefined>;
}

/** The parts of a block, to be stored one after the other. */
export function partsOf({ updates, additions }: Placed, pasting: Pasting): Part[] {
  return [
    ...updates.map(
      (update): Part => ({
        ...{ index: update.index, count: 1 },
        store: (pasted) => storeUpdate(update, pasted, pasting),
      }),
    ),
    ...batchesOf(additions).map(
      (batch): Part => ({
        ...{ index: batch[0]!.index, count: batch.length },
        store: (pasted) => storeAdditions(batch, pasted, pasting),
      }),
    ),
  ];
}

/** Stores the cells that differ. */
async function storeUpdate({ index, row, cells }: Update, pasted: Pasted, { storing, dropFailed }: Pasting) {
  const changed = cells.filter(([column, text]) => text !== textOf(row, column));
  if (changed.length > 0) {
    const { error } = await sendPatiently(() => storing.store(row, changed));
    if (isTemporary(error)) return error;
    if (error) return void pasted.refused.push({ row: index + 1, message: sentenceOf(error) });
    pasted.changed.push({ index, row, cells: changed });
  }
  dropFailed(
    row,
    cells.map(([column]) => column),
  );
}

async function storeAdditions(batch: Addition[], pasted: Pasted, { storing, attempt }: Pasting) {
  const { client, slug, rows } = storing;
  const items = batch.map(({ item }) => item);
  const request = JSON.stringify(items);
  if (attempt.request !== request) Object.assign(attempt, { request, key: crypto.randomUUID() });
  const { data, error } = await addRows(client, slug, items, attempt.key);
  if (isTemporary(error)) return error;
  Object.assign(attempt, { request: "", key: "" });
  const refuse = (index: number, message: string) => pasted.refused.push({ row: index + 1, message });
  if (error) for (const { index } of batch) refuse(index, sentenceOf(error));
  for (const { index, message } of data?.errors ?? []) refuse(batch[index]!.index, message);
  pasted.warning ??= data?.warning ?? null;
  for (const row of data?.rows ?? [])
    if (row) {
      rows.append(row);
      pasted.added.push(row);
    }
}
