import { useCallback, useRef, useState } from "react";
import type { CombinedError } from "urql";
import { type GridColumn, type Row, textOf } from "./cells.ts";
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

/** What a cell shows: what was typed into it, or else its value. */
export const textIn = (edits: Edits, row: Row, column: GridColumn): string =>
  edits.get(cellOf(row, column))?.text ?? textOf(row, column);

type Store = (row: Row, column: GridColumn, text: string) => Promise<Outcome<Row>>;

/** Each edit shows at once; one that fails keeps its text until it is saved or dropped. */
export function useEdits(store: Store) {
  const [edits, setEdits] = useState<Edits>(new Map());
  const latest = useRef(edits);
  const change = useCallback((to: (now: Edits) => Edits) => {
    latest.current = to(latest.current);
    setEdits(latest.current);
  }, []);
  /** Forgets an edit that is stored, or keeps one that failed, unless another of its cell has followed it. */
  const settle = (edit: Edit, { data, error }: Outcome<Row>) =>
    change((now) => {
      const cell = cellOf(edit.row, edit.column);
      if (now.get(cell) !== edit) return now;
      return data ? without(now, [cell]) : new Map(now).set(cell, { ...edit, error });
    });
  /** Forgets the edits of cells that failed. */
  const dropFailed = useCallback(
    (row: Row, columns: GridColumn[]) =>
      change((now) => {
        const cells = columns.map((column) => cellOf(row, column));
        return without(
          now,
          cells.filter((cell) => now.get(cell)?.error),
        );
      }),
    [change],
  );
  const save = (row: Row, column: GridColumn, text: string) => {
    const cell = cellOf(row, column);
    const earlier = latest.current.get(cell);
    const isShown = text === (earlier?.text ?? textOf(row, column));
    if (isShown && !earlier?.error) return;
    const edit = { row, column, text, error: undefined };
    change((now) => new Map(now).set(cell, edit));
    void store(row, column, text).then((outcome) => settle(edit, outcome));
  };
  return { edits, save, dropFailed, isUnsaved: () => latest.current.size > 0 };
}

const without = (edits: Edits, cells: string[]): Edits =>
  new Map([...edits].filter(([cell]) => !cells.includes(cell)));
