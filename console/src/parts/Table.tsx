import type { ReactNode } from "react";
import styles from "./Table.module.css";

export interface Column<Row> {
  name: string;
  cell: (row: Row) => ReactNode;
  /** Numbers stand at the end, so that their digits are below each other. */
  align?: "end";
  /** It takes the space that others leave. */
  isWide?: boolean;
  /** Its text stays on one line, up to a length. */
  isLine?: boolean;
  /** Narrow screens leave it out. */
  isOptional?: boolean;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** The first link in a row is that of the whole row, also for the mouse. */
  rowsAre?: "links";
}

export function Table<Row>({ label, columns, rows, keyOf, rowsAre }: Props<Row>) {
  const classOf = ({ align, isWide, isLine, isOptional }: Column<Row>) =>
    [
      align === "end" && styles.end,
      isWide && styles.wide,
      isLine && styles.line,
      isOptional && styles.optional,
    ]
      .filter(Boolean)
      .join(" ") || undefined;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section className={styles.frame} tabIndex={0} aria-label={label}>
      <table className={styles.table}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" className={classOf(column)}>
                {column.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} className={rowsAre && styles.linked} onClick={rowsAre && followFirstLink}>
              {columns.map((column) => (
                <td key={column.name} className={classOf(column)}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function followFirstLink(event: React.MouseEvent<HTMLTableRowElement>): void {
  const isOwn = (event.target as Element).closest("a, button, input");
  const isSelecting = String(getSelection()) !== "";
  if (!isOwn && !isSelecting) event.currentTarget.querySelector("a")?.click();
}

/** The name of what a row is about, its slug, and a line about it. */
export function RowName({ name, slug, about }: { name: ReactNode; slug: string; about?: ReactNode }) {
  return (
    <>
      <span className={styles.name}>{name}</span> <code className={styles.slug}>{slug}</code>
      {about && <div className={styles.about}>{about}</div>}
    </>
  );
}
