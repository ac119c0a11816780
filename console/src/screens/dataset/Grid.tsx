import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, useEffect, useRef, useState } from "react";
import { PlainText } from "../../parts/CodeText.tsx";
import { type GridColumn, type Row, toText, valueIn } from "./cells.ts";
import styles from "./Dataset.module.css";
import { GridRow } from "./GridRow.tsx";

interface Props {
  rows: Row[];
  columns: GridColumn[];
  hasMore: boolean;
  onMore: () => void;
  onEdit?: (row: Row, column: GridColumn, value: unknown) => void;
  onDelete?: (row: Row) => void;
}

interface Place {
  row: number;
  column: number;
}

const ROW_PX = 34;
const MIN_COLUMN_PX = 160;
/** More rows are read when fewer than these are below those in view. */
const MIN_ROWS_AHEAD = 50;
/** A longer text is shown in full below the grid. */
const MIN_LONG_CHARACTERS = 60;

const moves: Record<string, [rows: number, columns: number]> = {
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
export function Grid({ rows, columns, hasMore, onMore, onEdit, onDelete }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<Place>({ row: 0, column: 0 });
  const [isEditing, setIsEditing] = useState(false);
  const { virtual, shown } = useRowsInView(frame, { count: rows.length, hasMore, onMore });
  const move = (rowStep: number, columnStep: number) => {
    const row = within(at.row + rowStep, rows.length);
    setAt({ row, column: within(at.column + columnStep, columns.length) });
    virtual.scrollToIndex(row);
  };
  const selected = rows[at.row];
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (isEditing) return;
    const step = moves[event.key];
    if (step) move(...step);
    else if ((event.key === "Enter" || event.key === "F2") && onEdit) setIsEditing(true);
    else if (event.key === "Delete" && selected) onDelete?.(selected);
    else return;
    event.preventDefault();
  };
  const end = (rowStep: number, columnStep: number) => {
    setIsEditing(false);
    frame.current?.focus();
    move(rowStep, columnStep);
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
              style={{ ...style, transform: `translateY(${start}px)` }}
              selected={at.row === index ? at.column : null}
              isEditing={isEditing && at.row === index}
              onSelect={(column) => setAt({ row: index, column })}
              onBegin={() => onEdit && setIsEditing(true)}
              onEnd={end}
              {...(onEdit && { onEdit })}
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

const within = (value: number, count: number) => Math.max(0, Math.min(count - 1, value));

/** The rows to render, and reading more of them in time. */
function useRowsInView(
  frame: React.RefObject<HTMLDivElement | null>,
  { count, hasMore, onMore }: Pick<Props, "hasMore" | "onMore"> & { count: number },
) {
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
  });
  const shown = virtual.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (hasMore && last >= count - MIN_ROWS_AHEAD) onMore();
  }, [hasMore, last, count, onMore]);
  return { virtual, shown };
}

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
