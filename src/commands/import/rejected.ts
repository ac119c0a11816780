import type { FileHandle } from "node:fs/promises";
import type { ErrorDetail } from "../../errors.ts";
import { quoted } from "../../errors.ts";
import type { FileRow, RowFile } from "../../formats/rows.ts";
import { createPrivateFile } from "../../privateFiles.ts";

const MAX_PRINTED = 20;

/** The rejected rows of a file: the first are printed, and all are written to a file in which they can be corrected. */
export interface Rejected {
  add(rows: { row: FileRow; details: ErrorDetail[] }[]): Promise<void>;
  count(): number;
  /** The file of rejected rows; null when there is none. */
  path(): string | null;
  /** Completes the file and prints the errors. */
  close(say: (line: string) => void): Promise<void>;
}

/** Collects rejected rows and writes them to a new file at `target`, or a numbered one beside it; null for no file. */
export function collectRejected(target: string | null, { rejectedFile }: RowFile): Rejected {
  const sentences: string[] = [];
  let opened: { file: FileHandle; path: string } | undefined;
  let count = 0;
  return {
    add: async (rows) => {
      if (rows.length === 0) return;
      for (const { row, details } of rows.slice(0, MAX_PRINTED - sentences.length))
        sentences.push(...details.slice(0, 1).map((detail) => sentenceOf(row, detail, details.length - 1)));
      const isFirst = count === 0;
      count += rows.length;
      if (target === null) return;
      opened ??= await openNew(target);
      const texts = rows.map(({ row }) => rejectedFile.write(row.source)).join(rejectedFile.between);
      await opened.file.write(`${isFirst ? rejectedFile.before : rejectedFile.between}${texts}`);
    },
    count: () => count,
    path: () => opened?.path ?? null,
    close: async (say) => {
      await opened?.file.write(rejectedFile.after);
      await opened?.file.close();
      for (const sentence of sentences) say(sentence);
      if (count > sentences.length)
        say(`… and ${(count - sentences.length).toLocaleString("en")} more rows.`);
    },
  };
}

const MAX_ATTEMPTS = 1_000;

/** Opens a new file. An existing one may have been corrected since its import, so the new one gets a number. */
async function openNew(target: string): Promise<{ file: FileHandle; path: string }> {
  for (let n = 1; n <= MAX_ATTEMPTS; n++) {
    const path = n === 1 ? target : `${target}-${n}`;
    try {
      return { path, file: await createPrivateFile(path) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
  }
  throw new Error(`There are ${MAX_ATTEMPTS} files of rejected rows at ${target}. Import or remove them.`);
}

function sentenceOf({ line }: FileRow, { path, message }: ErrorDetail, more: number): string {
  const place = path ? `, column ${quoted(path)}` : "";
  return `line ${line}${place}: ${message}${more > 0 ? ` (and ${more} more errors in this row)` : ""}`;
}
