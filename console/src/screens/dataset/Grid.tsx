import { type CSSProperties, useRef } from "react";
import { PlainText } from "../../parts/CodeText.tsx";
import { type GridColumn, type Row, toText, valueIn } from "./cells.ts";
import styles from "./Dataset.module.css";
import { GridRow } from "./GridRow.tsx";
import type { GridActions } from "./gridActions.ts";
import { useCells } from "./useCells.ts";
import type { Edits } from "./useEdits.ts";
import { useGridKeys } from "./useGridKeys.ts";
import { type Place, useArrival } from "./usePlace.ts";
import { useRowsInView } from "./useRowsInView.ts";

interface Props {
  rows: Row[];
  place: Place;
  columns: GridColumn[];
  edits: Edits;
  hasMore: boolean;
  onMore: () => void;
  /** What can be done to the rows; nothing in an old version. */
  actions: GridActions | null;
}

const MIN_COLUMN_PX = 160;
/** A longer text is shown in full below the grid. */
const MIN_LONG_CHARACTERS = 60;

/** Rows as in a sheet: only those in view are rendered. Arrow keys move, Enter edits, Escape takes back. */
export function Grid({ rows, place, columns, edits, hasMore, onMore, actions }: Props) {
  const frame = useRef<HTMLDivElement>(null);
  const cells = useCells(rows, columns.length);
  const { at, setAt, editing, edited, begin } = cells;
  const { virtual, shown } = useRowsInView(frame, { count: rows.length, edited, hasMore, onMore });
  const selected = rows[at.row];
  const scrollTo = (row: number) => virtual.scrollToIndex(row);
  useArrival(place, rows.length, scrollTo);
  const { onKeyDown, onPaste, end } = useGridKeys({ frame, cells, selected, actions, scrollTo });
  const style = styleOf(columns, actions !== null);
  return (
    <>
      <div
        ref={frame}
        data-scroll-restoration-id={place.scrollId}
        className={styles.grid}
        role="grid"
        aria-label="Rows"
        aria-rowcount={hasMore ? -1 : rows.length + 1}
        data-empty={(rows.length === 0 && !hasMore) || undefined}
        aria-activedescendant={selected && `cell-${at.row}-${at.column}`}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      >
        <Head columns={columns} style={style} onColumns={actions?.changeColumns} />
        <div
          role={rows.length > 0 ? "rowgroup" : undefined}
          style={{ position: "relative", height: virtual.getTotalSize() }}
        >
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
              onBegin={(column) => actions && begin(rows[index]!, column)}
              onEnd={end}
              actions={actions}
            />
          ))}
        </div>
      </div>
      {selected && <LongText text={toText(valueIn(selected, columns[at.column]!))} />}
    </>
  );
}

function LongText({ text }: { text: string }) {
  return text.length > MIN_LONG_CHARACTERS && <PlainText text={text} />;
}

function styleOf({ length }: GridColumn[], hasActions: boolean): CSSProperties {
  return {
    gridTemplateColumns: `52px repeat(${length}, minmax(${MIN_COLUMN_PX}px, 1fr)) ${hasActions ? "40px" : ""}`,
    minWidth: 52 + length * MIN_COLUMN_PX,
  };
}

interface HeadProps {
  columns: GridColumn[];
  style: CSSProperties;
  /** Changes the columns; undefined in an old version. */
  onColumns: (() => void) | undefined;
}

function Head({ columns, style, onColumns }: HeadProps) {
  return (
    <div className={styles.head} role="row" style={style}>
      <span role="columnheader">#</span>
      {columns.map(({ key, title, type, isIdealOutput }) => (
        <span key={key} role="columnheader" title={type.toLowerCase()}>
          {onColumns && !isIdealOutput ? (
            <button type="button" tabIndex={-1} onClick={onColumns}>
              {title}
            </button>
          ) : (
            title
          )}
        </span>
      ))}
      {onColumns && (
        <span role="columnheader">
          <span className={styles.unseen}>Delete</span>
        </span>
      )}
    </div>
  );
}
