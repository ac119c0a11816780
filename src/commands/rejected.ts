import type { FileHandle } from "node:fs/promises";
import type { ErrorDetail } from "../errors.ts";
import { quoted } from "../errors.ts";
import type { FileRow, RowFile } from "../formats/rows.ts";
import { createPrivateFile } from "../privateFiles.ts";

const MOST_PRINTED = 20;

/** The rows of a file that were refused: the first are printed, and all are written where they can be mended. */
export interface Rejected {
  add(refused: { row: FileRow; details: ErrorDetail[] }[]): Promise<void>;
  count(): number;
  /** The file that they were written to; null when there is none. */
  path(): string | null;
  /** Finishes the file and says what was wrong. */
  close(say: (line: string) => void): Promise<void>;
}

/** Collects refused rows; `wanted` is where to write them if nothing is there yet, null for nowhere. */
export function collectRejected(wanted: string | null, { refused }: RowFile): Rejected {
  const sentences: string[] = [];
  let opened: { file: FileHandle; path: string } | undefined;
  let count = 0;
  return {
    add: async (rows) => {
      if (rows.length === 0) return;
      for (const { row, details } of rows.slice(0, MOST_PRINTED - sentences.length))
        sentences.push(...details.slice(0, 1).map((detail) => sentenceOf(row, detail, details.length - 1)));
      const isFirst = count === 0;
      count += rows.length;
      if (wanted === null) return;
      opened ??= await openFresh(wanted);
      const texts = rows.map(({ row }) => refused.write(row.source)).join(refused.between);
      await opened.file.write(`${isFirst ? refused.before : refused.between}${texts}`);
    },
    count: () => count,
    path: () => opened?.path ?? null,
    close: async (say) => {
      await opened?.file.write(refused.after);
      await opened?.file.close();
      for (const sentence of sentences) say(sentence);
      if (count > sentences.length)
        say(`… and ${(count - sentences.length).toLocaleString("en")} more rows.`);
    },
  };
}

const MAX_ATTEMPTS = 1_000;

/** Opens a new file. What an earlier import has left may have been mended by now, so it is kept and the new one numbered. */
async function openFresh(wanted: string): Promise<{ file: FileHandle; path: string }> {
  for (let n = 1; n <= MAX_ATTEMPTS; n++) {
    const path = n === 1 ? wanted : `${wanted}-${n}`;
    try {
      return { path, file: await createPrivateFile(path) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  throw new Error(`There are ${MAX_ATTEMPTS} files of rejected rows at ${wanted}. Import or remove them.`);
}

function sentenceOf({ line }: FileRow, { path, message }: ErrorDetail, more: number): string {
  const place = path ? `, column ${quoted(path)}` : "";
  return `line ${line}${place}: ${message}${more > 0 ? ` (and ${more} more errors in this row)` : ""}`;
}
