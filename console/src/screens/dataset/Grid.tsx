import { type CSSProperties, useRef } from "react";
import { PlainText } from "../../parts/CodeText.tsx";
import { type GridColumn, type Row, toText, valueIn } from "./cells.ts";
import styles from "./Dataset.module.css";
import { GridRow } from "./GridRow.tsx";
import { type Move, useCells } from "./useCells.ts";
import type { Edits } from "./useEdits.ts";
import { useRowsInView } from "./useRowsInView.ts";

interface Props {
  rows: Row[];
  columns: GridColumn[];
  edits: Edits;
  hasMore: boolean;
  onMore: () => void;
  onEdit?: (row: Row, column: GridColumn, text: string) => void;
  /** Forgets an edit that could not be stored. */
  onTakeBack?: (row: Row, column: GridColumn) => void;
  onDelete?: (row: Row) => void;
}

const MIN_COLUMN_PX = 160;
/** A longer text is shown in full below the grid. */
const MIN_LONG_CHARACTERS = 60;

const moves: Record<string, Move> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  PageUp: [-12, 0],
  PageDown: [12, 0],
  Home: [0, -1_000],
  End: [0, 1_000],
};

/** Rows as in a sheet: only those in view are rendered. Arrow keys move, Enter edits, Escape takes back. */
export function Grid({ rows, columns, edits, hasMore, onMore, onEdit, onTakeBack, onDelete }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const { at, setAt, step, editing, edited, begin, stop } = useCells(rows, columns.length);
  const { virtual, shown } = useRowsInView(frame, { count: rows.length, edited, hasMore, onMore });
  const selected = rows[at.row];
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (editing) return;
    const move = moves[event.key];
    if (move) virtual.scrollToIndex(step(move));
    else if (event.key === "Delete" && selected) onDelete?.(selected);
    else if (!onEdit || !selected) return;
    else if (event.key === "Enter" || event.key === "F2") begin(selected, at.column);
    else if (isPrintable(event)) begin(selected, at.column, event.key);
    else return;
    event.preventDefault();
    event.stopPropagation(); // a letter that is typed into a cell is none of the keys of the console
  };
  const end = (move?: Move) => {
    stop();
    if (!move) return;
    frame.current?.focus();
    virtual.scrollToIndex(step(move));
  };
  const style = styleOf(columns, onDelete !== undefined);
  const selectedText = selected ? toText(valueIn(selected, columns[at.column]!)) : "";
  return (
    <>
      <div
        ref={frame}
        className={styles.grid}
        role="grid"
        aria-label="Rows"
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        aria-activedescendant={selected && `cell-${at.row}-${at.column}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <Head columns={columns} style={style} hasActions={onDelete !== undefined} />
        <div role="rowgroup" style={{ position: "relative", height: virtual.getTotalSize() }}>
          {shown.map(({ index, start }) => (
            <GridRow
              key={rows[index]!.id}
              index={index}
              row={rows[index]!}
              columns={columns}
              edits={edits}
              style={{ ...style, transform: `translateY(${start}px)` }}
              selected={at.row === index ? at.column : null}
              editing={edited === index ? editing : null}
              onSelect={(column) => setAt({ row: index, column })}
              onBegin={(column) => onEdit && begin(rows[index]!, column)}
              onEnd={end}
              {...(onEdit && { onEdit })}
              {...(onTakeBack && { onTakeBack })}
              {...(onDelete && { onDelete })}
            />
          ))}
        </div>
      </div>
      {selectedText.length > MIN_LONG_CHARACTERS && <PlainText text={selectedText} />}
    </>
  );
}

function styleOf({ length }: GridColumn[], hasActions: boolean): CSSProperties {
  return {
    gridTemplateColumns: `52px repeat(${length}, minmax(${MIN_COLUMN_PX}px, 1fr)) ${hasActions ? "40px" : ""}`,
    minWidth: 52 + length * MIN_COLUMN_PX,
  };
}

const isPrintable = ({ key, ctrlKey, metaKey, altKey }: React.KeyboardEvent): boolean =>
  key.length === 1 && !ctrlKey && !metaKey && !altKey;

function Head({
  columns,
  style,
  hasActions,
}: {
  columns: GridColumn[];
  style: CSSProperties;
  hasActions: boolean;
}) {
  return (
    <div className={styles.head} role="row" style={style}>
      <span role="columnheader">#</span>
      {columns.map(({ key, title, type }) => (
        <span key={key} role="columnheader" title={type.toLowerCase()}>
          {title}
        </span>
      ))}
      {hasActions && (
        <span role="columnheader">
          <span className={styles.unseen}>Delete</span>
        </span>
      )}
    </div>
  );
}
