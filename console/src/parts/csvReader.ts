/** A cell of CSV; null when it is empty and has no quotation marks. */
export type Cell = string | null;

export interface CsvRecord {
  cells: Cell[];
  /** What is wrong with its quotation marks. */
  problem: string | null;
}

interface Reading {
  delimiter: string;
  records: CsvRecord[];
  record: CsvRecord;
  cell: Cell;
  place: "plain" | "quoted" | "after quotes";
  isAfterReturn: boolean;
}

const MAX_CELL_CHARACTERS = 16_000_000;

/** Reads CSV by RFC 4180 piece by piece: `read` returns the records that a piece completes, `end` the last one. */
export function csvReader(delimiter: string) {
  const reading: Reading = {
    ...{ delimiter, records: [], record: { cells: [], problem: null } },
    ...{ cell: null, place: "plain", isAfterReturn: false },
  };
  const take = () => {
    const complete = reading.records;
    reading.records = [];
    return complete;
  };
  return {
    read(text: string): CsvRecord[] {
      for (let at = 0; at < text.length; )
        at = reading.place === "quoted" ? readQuoted(reading, text, at) : readPlain(reading, text, at);
      return take();
    },
    end(): CsvRecord[] {
      const { place, record, cell } = reading;
      if (place === "quoted") record.problem ??= "A quotation mark is never closed.";
      if (cell !== null || record.cells.length > 0) endRecord(reading);
      return take();
    },
  };
}

/** Reads up to the end of quotation marks; returns where to go on. */
function readQuoted(reading: Reading, text: string, at: number): number {
  const end = text.indexOf('"', at);
  add(reading, text.slice(at, end === -1 ? text.length : end));
  if (end === -1) return text.length;
  reading.place = "after quotes";
  return end + 1;
}

/** Reads a sign, or the text up to the next one; returns where to go on. */
function readPlain(reading: Reading, text: string, at: number): number {
  const { delimiter, cell, place, isAfterReturn } = reading;
  const sign = text[at]!;
  reading.isAfterReturn = sign === "\r";
  if (isAfterReturn && sign === "\n") return at + 1;
  if (sign === delimiter) endCell(reading);
  else if (sign === "\n" || sign === "\r") endRecord(reading);
  else if (sign === '"' && (place === "after quotes" || cell === null)) {
    add(reading, place === "after quotes" ? '"' : "");
    reading.place = "quoted";
  } else {
    if (place === "after quotes")
      reading.record.problem ??= "Something stands behind a closing quotation mark.";
    reading.place = "plain";
    let end = at + 1;
    while (end < text.length && ![delimiter, "\n", "\r"].includes(text[end]!)) end += 1;
    add(reading, text.slice(at, end));
    return end;
  }
  return at + 1;
}

function add(reading: Reading, text: string): void {
  reading.cell = (reading.cell ?? "") + text;
  if (reading.cell.length > MAX_CELL_CHARACTERS)
    throw new Error("A cell is over 16 MB. Is a quotation mark missing that closes it?");
}

function endCell(reading: Reading): void {
  reading.record.cells.push(reading.cell);
  reading.cell = null;
  reading.place = "plain";
}

function endRecord(reading: Reading): void {
  endCell(reading);
  reading.records.push(reading.record);
  reading.record = { cells: [], problem: null };
}
