import { useCallback, useState } from "react";
import type { CombinedError } from "urql";
import { type GridColumn, type Row, toText, valueIn } from "./cells.ts";
import type { Outcome } from "./rowChanges.ts";

/** A text that was typed into a cell and is not stored yet. */
export interface Edit {
  row: Row;
  column: GridColumn;
  text: string;
  /** Why it could not be stored; undefined while it is sent. */
  error: CombinedError | undefined;
}

/** The edits that are not stored yet, by their cells. */
export type Edits = ReadonlyMap<string, Edit>;

export const cellOf = ({ id }: Row, { key }: GridColumn): string => `${id} ${key}`;

type Store = (row: Row, column: GridColumn, text: string) => Promise<Outcome<Row>>;

/** Each edit shows at once; one that fails keeps its text until it is saved or dropped. */
export function useEdits(store: Store) {
  const [edits, setEdits] = useState<Edits>(new Map());
  const put = useCallback(
    (edit: Edit) => setEdits((now) => new Map(now).set(cellOf(edit.row, edit.column), edit)),
    [],
  );
  /** Forgets the edit of a cell, or just the given one if another has followed it. */
  const drop = useCallback((row: Row, column: GridColumn, only?: Edit) => {
    const cell = cellOf(row, column);
    setEdits((now) =>
      only && now.get(cell) !== only ? now : new Map([...now].filter(([other]) => other !== cell)),
    );
  }, []);
  /** Keeps an edit that failed, unless another of its cell has followed it. */
  const fail = useCallback((edit: Edit, error: CombinedError | undefined) => {
    const cell = cellOf(edit.row, edit.column);
    setEdits((now) => (now.get(cell) === edit ? new Map(now).set(cell, { ...edit, error }) : now));
  }, []);
  const send = async (edit: Edit) => {
    const { row, column, text } = edit;
    const { data, error } = await store(row, column, text);
    if (data) drop(row, column, edit);
    else fail(edit, error);
  };
  const save = (row: Row, column: GridColumn, text: string) => {
    const earlier = edits.get(cellOf(row, column));
    const isShown = text === (earlier?.text ?? toText(valueIn(row, column)));
    if (isShown && !earlier?.error) return;
    const edit = { row, column, text, error: undefined };
    put(edit);
    void send(edit);
  };
  return { edits, save, drop };
}
