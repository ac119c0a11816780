import type { CSSProperties } from "react";
import { IconButton } from "../../parts/Button.tsx";
import { CellEditor } from "./CellEditor.tsx";
import { type GridColumn, type Row, toText, toValue, valueIn } from "./cells.ts";
import styles from "./Dataset.module.css";
import type { Editing, Move } from "./useCells.ts";

const MAX_SHOWN_CHARACTERS = 300;

interface Props {
  index: number;
  row: Row;
  columns: GridColumn[];
  style: CSSProperties;
  /** The column of the selected cell, if it is in this row. */
  selected: number | null;
  /** What is edited, if it is in this row. */
  editing: Editing | null;
  onSelect: (column: number) => void;
  onBegin: (column: number) => void;
  /** Editing has ended, by a key after which the selection goes on by so many rows and columns, or otherwise. */
  onEnd: (move?: Move) => void;
  onEdit?: (row: Row, column: GridColumn, value: unknown) => void;
  onDelete?: (row: Row) => void;
}

export function GridRow(props: Props) {
  const { index, row, columns, style, selected, editing, onSelect, onBegin, onEnd, onEdit, onDelete } = props;
  const save = (column: GridColumn, text: string, move?: Move) => {
    onEnd(move);
    const before = valueIn(row, column);
    if (text !== toText(before)) onEdit?.(row, column, toValue(text, before, column));
  };
  return (
    <div role="row" aria-rowindex={index + 2} className={styles.row} style={style}>
      <span role="rowheader" className={styles.index}>
        {index + 1}
      </span>
      {columns.map((column, n) => {
        const text = toText(valueIn(row, column));
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
            {editing?.column === n ? (
              <CellEditor
                text={text}
                typed={editing.typed}
                onSave={(edited, move) => save(column, edited, move)}
                onCancel={() => onEnd([0, 0])}
              />
            ) : (
              text.slice(0, MAX_SHOWN_CHARACTERS)
            )}
          </span>
        );
      })}
      {onDelete && (
        <span role="gridcell" className={styles.action}>
          <IconButton
            size="small"
            icon="close"
            label={`Delete row ${index + 1}`}
            tabIndex={-1}
            onClick={() => onDelete(row)}
          />
        </span>
      )}
    </div>
  );
}
