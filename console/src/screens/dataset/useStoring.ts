import { useCallback, useRef, useState } from "react";
import { useClient } from "urql";
import { type CellText, changeOf } from "./block.ts";
import { type Row, valueIn, withValue } from "./cells.ts";
import type { HeldRows } from "./HeldRows.ts";
import { type Outcome, updateRow } from "./rowChanges.ts";
import { entryWith } from "./runs.ts";
import { useUndo } from "./useUndo.ts";

interface Options {
  slug: string;
  rows: HeldRows<Row>;
  onStored: () => void;
}

export type Storing = ReturnType<typeof useStoring>;

/** What all changes of rows share: they are sent one after the other, show once they are stored, and can be undone. */
export function useStoring({ slug, rows, onStored }: Options) {
  const client = useClient();
  const history = useUndo();
  const turn = useRef<Promise<unknown>>(Promise.resolve());
  const [unfinished, setUnfinished] = useState(0);
  const inTurn = useCallback(<Result>(work: () => Promise<Result>): Promise<Result> => {
    setUnfinished((now) => now + 1);
    const result = turn.current.then(work);
    turn.current = result.catch(() => {}).then(() => setUnfinished((now) => now - 1));
    return result;
  }, []);
  /** Stores cells of a row, by default with their texts. */
  const store = async (row: Row, cells: CellText[], input = changeOf(row, cells)): Promise<Outcome<Row>> => {
    const outcome = await updateRow(client, history.idOf(row.id), input);
    const { data } = outcome;
    if (data)
      rows.change(data.id, (now) =>
        cells.reduce((changed, [column]) => withValue(changed, column, valueIn(data, column)), now),
      );
    return outcome;
  };
  /** A row as it is by now, after the changes that were sent before. */
  const current = (row: Row): Row => {
    return entryWith(rows.now().list, history.idOf(row.id)) ?? row;
  };
  return { ...history, client, slug, rows, onStored, inTurn, isBusy: unfinished > 0, store, current };
}
