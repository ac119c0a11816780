import { parse } from "node:path";
import { openCsv } from "./csv.ts";
import { openJson } from "./json.ts";
import { openJsonLines } from "./jsonLines.ts";
import type { ColumnType, RowFile } from "./rows.ts";
import type { Input } from "./text.ts";

export const formats = ["csv", "json", "jsonl"] as const;
export type Format = (typeof formats)[number];

const endings = new Map<string, Format>([
  [".csv", "csv"],
  [".tsv", "csv"],
  [".json", "json"],
  [".jsonl", "jsonl"],
  [".ndjson", "jsonl"],
]);

/** The format by the name of a file; `FILE.rejected` has the format of FILE. */
export function formatOf(path: string): Format | undefined {
  const { name, ext } = parse(path);
  return /^\.rejected(?:-\d+)?$/.test(ext) ? formatOf(name) : endings.get(ext.toLowerCase());
}

/** Opens a file of rows; `typeOf` returns the types of existing columns. */
export function openRows(
  format: Format,
  input: Input,
  typeOf: (column: string) => ColumnType | undefined,
): Promise<RowFile> {
  if (format === "csv") return openCsv(input, typeOf);
  return format === "json" ? openJson(input) : openJsonLines(input);
}
