/** A line of CSV by RFC 4180; `""` is the empty text, an empty cell no value. */
export const csvLine = (cells: (string | null)[]): string =>
  `${cells.map((cell) => (cell === null ? "" : quoted(cell))).join(",")}\n`;

const quoted = (cell: string): string =>
  /^$|[",;\t\r\n\uFEFF]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;

/** A text that no spreadsheet runs as a formula. */
export const withoutFormula = (text: string): string => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
