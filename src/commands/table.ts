import { printable } from "../printable.ts";

export interface Column<Row> {
  title: string;
  /** Null where there is nothing to show. */
  cell: (row: Row) => string | null;
  align?: "right";
  /** Never cut, as the value has to be typed into other commands. */
  isWhole?: true;
}

const GAP = "  ";
const MAX_CELL_CHARACTERS = 60;
/** A character may have any number of marks. */
const MAX_CELL_UNITS = 10 * MAX_CELL_CHARACTERS;

/** The lines of a table for people, with a title above each column. */
export function toTable<Row>(columns: Column<Row>[], rows: Row[]): string[] {
  const cells = rows.map((row) =>
    columns.map(({ cell, isWhole }) => {
      const text = printable(cell(row) ?? "-");
      return isWhole ? text : cut(text);
    }),
  );
  const lines = [columns.map(({ title }) => title), ...cells];
  const widths = columns.map((_, n) => Math.max(...lines.map((line) => widthOf(line[n]!))));
  return lines.map((line) =>
    line
      .map((text, n) => {
        const space = " ".repeat(widths[n]! - widthOf(text));
        return columns[n]!.align === "right" ? space + text : text + space;
      })
      .join(GAP)
      .trimEnd(),
  );
}

const segmenter = new Intl.Segmenter();
const WIDE = /[\p{Emoji_Presentation}\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\uff01-\uff60]/u;

function cut(text: string): string {
  if (text.length <= MAX_CELL_CHARACTERS) return text;
  const characters = [...segmenter.segment(text.slice(0, MAX_CELL_UNITS))];
  if (characters.length <= MAX_CELL_CHARACTERS && text.length <= MAX_CELL_UNITS) return text;
  const beginning = characters.slice(0, MAX_CELL_CHARACTERS - 1).map(({ segment }) => segment);
  return `${beginning.join("")}…`;
}

/** The number of terminal columns that a text takes. */
function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}
