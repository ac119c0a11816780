import { type CSSProperties, useRef } from "react";
import { PlainText } from "../../parts/CodeText.tsx";
import type { GridColumn } from "./cells.ts";
import styles from "./Dataset.module.css";
import { GridRow, UnreadRow } from "./GridRow.tsx";
import type { GridActions } from "./gridActions.ts";
import { useCells } from "./useCells.ts";
import { useColumnInView } from "./useColumnInView.ts";
import { type Edits, textIn } from "./useEdits.ts";
import { useGridKeys } from "./useGridKeys.ts";
import type { Place } from "./usePlace.ts";
import type { useRows } from "./useRows.ts";
import { useRowsInView } from "./useRowsInView.ts";

interface Props {
  rows: ReturnType<typeof useRows>;
  place: Place;
  columns: GridColumn[];
  edits: Edits;
  /** What can be done to the rows; nothing in an old version. */
  actions: GridActions | null;
}

const MIN_COLUMN_PX = 160;
/** A longer text is shown in full below the grid. */
const MIN_LONG_CHARACTERS = 60;

/** Rows as in a sheet: only those in view are read and rendered. Arrow keys move, Enter edits, Escape takes back. */
export function Grid({ rows, place, columns, edits, actions }: Props) {
  const { count } = rows.list;
  const frame = useRef<HTMLDivElement>(null);
  const cells = useCells(rows.list, columns.length);
  const { at, setAt, rowAt, editing, edited, begin } = cells;
  const view = { count, edited, place, onView: rows.held.view };
  const { shown, height, scrollTo } = useRowsInView(frame, view);
  const selected = rowAt(at.row);
  const text = selected ? textIn(edits, selected, columns[at.column]!) : "";
  const showColumn = useColumnInView(frame, place, at.column);
  const { end, ...events } = useGridKeys({
    ...{ frame, cells, selected, text, columns, actions },
    ...{ scrollTo, showColumn },
  });
  const style = styleOf({ count, columnCount: columns.length, hasActions: actions !== null });
  return (
    <>
      <div
        ref={frame}
        data-scroll-restoration-id={place.scrollId}
        className={styles.grid}
        role="grid"
        aria-label="Rows"
        aria-rowcount={count + 1}
        data-empty={count === 0 || undefined}
        aria-activedescendant={selected && `cell-${at.row}-${at.column}`}
        tabIndex={0}
        {...events}
      >
        <Head columns={columns} style={style} onColumns={actions?.changeColumns} />
        <div role={count > 0 ? "rowgroup" : undefined} style={{ position: "relative", height }}>
          {shown.map(({ index, top }) => {
            const row = rowAt(index);
            const placed = { ...style, transform: `translateY(${top}px)` };
            if (!row) return <UnreadRow key={`unread ${index}`} index={index} style={placed} />;
            return (
              <GridRow
                key={row.id}
                {...{ index, row, columns, edits, actions }}
                style={placed}
                selected={at.row === index ? at.column : null}
                editing={edited === index ? editing : null}
                onSelect={(column) => setAt({ row: index, column })}
                onBegin={(column) => actions && begin(row, column)}
                onEnd={end}
              />
            );
          })}
        </div>
      </div>
      <LongText text={text} />
    </>
  );
}

function LongText({ text }: { text: string }) {
  return text.length > MIN_LONG_CHARACTERS && <PlainText text={text} />;
}

interface Layout {
  count: number;
  columnCount: number;
  hasActions: boolean;
}

function styleOf({ count, columnCount, hasActions }: Layout): CSSProperties {
  const numberPx = Math.max(52, 28 + 8 * String(count).length);
  return {
    gridTemplateColumns: `${numberPx}px repeat(${columnCount}, minmax(${MIN_COLUMN_PX}px, 1fr)) ${hasActions ? "40px" : ""}`,
    minWidth: numberPx + columnCount * MIN_COLUMN_PX,
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
