/** A cell in quotation marks that end with it, or else all of its text, and what separates it from the next one. */
const CELL = /(?:"([^"]*(?:""[^"]*)*)"(?=[\t\r\n]|$)|([^\t\r\n]*))(\t|\r?\n|\r|$)/gy;

/**
 * The cells of a block that was copied from a spreadsheet: tabs between them, quotation marks as in RFC 4180, but where a
 * program has not doubled those of a cell that begins with one.
 */
export function parseBlock(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [all, quoted, plain, end] of text.matchAll(CELL)) {
    if (all === "" && row.length === 0) break; // the end of the last line is no line
    row.push(quoted?.replaceAll('""', '"') ?? plain!);
    if (end === "\t") continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

/** The text of a cell as a block of its own. */
export const blockOf = (text: string): string =>
  /^"|[\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
