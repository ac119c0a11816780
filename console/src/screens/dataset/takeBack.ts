import type { DatasetItemInput } from "../../gql/graphql.ts";
import { batchesOf } from "./batches.ts";
import { restoreOf } from "./block.ts";
import type { Row } from "./cells.ts";
import type { Pasted } from "./pasting.ts";
import { addRows, deleteRow, type Outcome } from "./rowChanges.ts";
import type { Storing } from "./useStoring.ts";
import type { Taken } from "./useUndo.ts";

/** Gives cells their earlier values back, and deletes rows that were added. */
export async function takeBack(
  storing: Storing,
  { changed, added }: Pick<Pasted, "changed" | "added">,
): Promise<Outcome<null>> {
  for (const { row, cells } of changed) {
    const { data, error } = await storing.store(row, cells, restoreOf(row, cells));
    if (!data) return { error };
  }
  for (const { id } of added) {
    const { error } = await deleteAgain(storing, id);
    if (error) return { error };
  }
  return { data: null };
}

export async function deleteAgain({ client, rows, idOf }: Storing, id: string): Promise<Outcome<null>> {
  const outcome = await deleteRow(client, idOf(id));
  if (!outcome.error) rows.remove(idOf(id));
  return outcome;
}

interface Deleted {
  id: string;
  item: DatasetItemInput;
}

export const deletedOf = ({ id, key, name, values, idealOutput }: Row): Deleted => ({
  id,
  item: { key: key ?? null, name: name ?? null, values, idealOutput: idealOutput ?? null },
});

/**
 * Returns what adds deleted rows again, at the end, unless `check` has an error. A second try goes on where the first one
 * failed, and adds none twice.
 */
export function addAgain(
  { client, slug, rows, idOf, renamed }: Storing,
  deleted: Deleted[],
  check: () => Promise<Outcome<null>> = async () => ({ data: null }),
) {
  const sized = deleted.map((one) => ({ ...one, characters: JSON.stringify(one.item).length }));
  const all = [...batchesOf(sized)].map((batch) => ({ batch, key: "" }));
  let left = [...all];
  return async (): Promise<Taken> => {
    let warning: string | null = null;
    for (const part of left) {
      const refusal = part.key === "" ? (await check()).error : undefined;
      if (refusal) return { error: refusal };
      part.key ||= crypto.randomUUID(); // of all tries, as one whose answer is lost may have stored the rows
      const items = part.batch.map(({ item }) => item);
      const { data, error } = await addRows(client, slug, items, part.key);
      if (!data || data.rows.includes(null)) return { error };
      warning ??= data.warning;
      data.rows.forEach((back, n) => {
        renamed(idOf(part.batch[n]!.id), back!.id);
        rows.append(back!);
      });
      part.key = "";
      left = left.slice(1);
    }
    left = [...all];
    return { data: null, warning };
  };
}

/** Returns what stores a block again that was taken back. */
export function pasteAgain(storing: Storing, { changed, added }: Pick<Pasted, "changed" | "added">) {
  const addRowsAgain = addAgain(storing, added.map(deletedOf));
  return async (): Promise<Taken> => {
    for (const { row, cells } of changed) {
      const { data, error } = await storing.store(row, cells);
      if (!data) return { error };
    }
    return addRowsAgain();
  };
}
