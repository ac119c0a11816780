import { type FileHandle, open } from "node:fs/promises";
import type { Fault } from "../errors.ts";
import { quoted } from "../errors.ts";
import type { FileRow, RowFile } from "../files/rows.ts";

const MOST_TOLD = 20;

/** The rows of a file that were refused: the first are told of, and all are written where they can be mended. */
export interface Rejected {
  add(refused: { row: FileRow; faults: Fault[] }[]): Promise<void>;
  count(): number;
  /** Finishes the file and says what was wrong. */
  close(say: (line: string) => void): Promise<void>;
}

/** Collects refused rows; `path` is where to write them, null for nowhere. */
export function collectRejected(path: string | null, { refused }: RowFile): Rejected {
  const told: string[] = [];
  let file: FileHandle | undefined;
  let count = 0;
  return {
    add: async (rows) => {
      if (rows.length === 0) return;
      for (const { row, faults } of rows.slice(0, MOST_TOLD - told.length))
        told.push(...faults.slice(0, 1).map((fault) => sentenceOf(row, fault, faults.length - 1)));
      const isFirst = count === 0;
      count += rows.length;
      if (path === null) return;
      file ??= await open(path, "w");
      const texts = rows.map(({ row }) => refused.write(row.source)).join(refused.between);
      await file.write(`${isFirst ? refused.before : refused.between}${texts}`);
    },
    count: () => count,
    close: async (say) => {
      await file?.write(refused.after);
      await file?.close();
      for (const sentence of told) say(sentence);
      if (count > told.length) say(`… and ${(count - told.length).toLocaleString("en")} more rows.`);
    },
  };
}

function sentenceOf({ line }: FileRow, { path, message }: Fault, more: number): string {
  const place = path ? `, column ${quoted(path)}` : "";
  return `line ${line}${place}: ${message}${more > 0 ? ` (and ${more} more faults in this row)` : ""}`;
}
