import type { CSSProperties } from "react";
import { IconButton } from "../../parts/Button.tsx";
import { CellContent } from "./CellContent.tsx";
import { CellEditor } from "./CellEditor.tsx";
import type { GridColumn, Row } from "./cells.ts";
import styles from "./Dataset.module.css";
import type { GridActions } from "./gridActions.ts";
import type { Editing, Move } from "./useCells.ts";
import { cellOf, type Edits, textIn } from "./useEdits.ts";

interface Props {
  index: number;
  row: Row;
  columns: GridColumn[];
  edits: Edits;
  style: CSSProperties;
  /** The column of the selected cell, if it is in this row. */
  selected: number | null;
  /** What is edited, if it is in this row. */
  editing: Editing | null;
  onSelect: (column: number) => void;
  onBegin: (column: number) => void;
  /** Editing has ended, by a key after which the selection goes on by so many rows and columns, or otherwise. */
  onEnd: (move?: Move) => void;
  actions: GridActions | null;
}

/** Stands where a row will be once it is read. */
export function UnreadRow({ index, style }: Pick<Props, "index" | "style">) {
  return (
    <div role="row" aria-rowindex={index + 2} aria-busy className={styles.row} style={style}>
      <span role="rowheader" className={styles.index}>
        {index + 1}
      </span>
    </div>
  );
}

export function GridRow(props: Props) {
  const { index, row, columns, edits, style, selected, editing, onSelect, onBegin, onEnd, actions } = props;
  return (
    <div role="row" aria-rowindex={index + 2} className={styles.row} style={style}>
      <span role="rowheader" className={styles.index}>
        {index + 1}
      </span>
      {columns.map((column, n) => {
        const edit = edits.get(cellOf(row, column));
        const text = textIn(edits, row, column);
        const isEdited = editing?.column === n;
        return (
          <span
            key={column.key}
            id={`cell-${index}-${n}`}
            role="gridcell"
            tabIndex={-1}
            aria-selected={selected === n}
            className={styles.cell}
            onMouseDown={() => onSelect(n)}
            onDoubleClick={() => onBegin(n)}
          >
            {isEdited || edit?.error ? (
              <CellEditor
                key={isEdited ? "edited" : "failed"}
                text={text}
                typed={isEdited ? editing.typed : undefined}
                hasFocus={isEdited}
                onFocus={() => isEdited || onBegin(n)}
                onSave={(edited, move) => {
                  onEnd(move);
                  actions?.edit(row, column, edited);
                }}
                onCancel={() => {
                  onEnd([0, 0]);
                  if (edit?.error) actions?.takeBack(row, column);
                }}
              />
            ) : (
              <CellContent text={text} column={column} />
            )}
          </span>
        );
      })}
      {actions && (
        <span role="gridcell" className={styles.action}>
          <IconButton
            size="small"
            icon="close"
            label={`Delete row ${index + 1}`}
            tabIndex={-1}
            onClick={() => actions.remove(row)}
          />
        </span>
      )}
    </div>
  );
}
