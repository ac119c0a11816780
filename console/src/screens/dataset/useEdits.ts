import { useCallback, useRef, useState } from "react";
import { type CombinedError, useClient } from "urql";
import type { UpdateRowMutation } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { type GridColumn, type Row, toText, toValue, valueIn, withValue } from "./cells.ts";

const UpdateRow = graphql(`
  mutation UpdateRow($id: ID!, $input: UpdateDatasetItemInput!) {
    updateDatasetItem(id: $id, input: $input) {
      datasetRow {
        id
        key
        name
        values
        idealOutput
      }
    }
  }
`);

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

interface Options {
  /** Changes the row that is shown, as it is by then. */
  change: (id: string, change: (row: Row) => Row) => void;
  onStored: () => void;
}

/** Stores edits one after the other. Each shows at once; one that fails keeps its text until it is saved or dropped. */
export function useEdits({ change, onStored }: Options) {
  const client = useClient();
  const [edits, setEdits] = useState<Edits>(new Map());
  const turn = useRef<Promise<void>>(Promise.resolve());
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
  const send = async (edit: Edit) => {
    const { row, column, text } = edit;
    const value = toValue(text, valueIn(row, column), column);
    const input = column.isIdealOutput ? { idealOutput: text } : { values: { [column.title]: value } };
    const { data, error } = await client
      .mutation<UpdateRowMutation>(String(UpdateRow), { id: row.id, input })
      .toPromise();
    if (!data || error) return put({ ...edit, error });
    const stored = valueIn(data.updateDatasetItem.datasetRow, column);
    change(row.id, (now) => withValue(now, column, stored));
    drop(row, column, edit);
    onStored();
  };
  const save = (row: Row, column: GridColumn, text: string) => {
    const earlier = edits.get(cellOf(row, column));
    const isShown = text === (earlier?.text ?? toText(valueIn(row, column)));
    if (isShown && !earlier?.error) return;
    const edit = { row, column, text, error: undefined };
    put(edit);
    turn.current = turn.current.then(() => send(edit));
  };
  return { edits, save, drop };
}
