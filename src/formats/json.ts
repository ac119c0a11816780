import type { Column } from "../datasets/entities.ts";
import { detailsOf } from "../validation/messages.ts";
import { inexactNumbers, toDeepJson } from "./exactJson.ts";
import { fileHead } from "./jsonLines.ts";
import { type Assembly, createAssembly, type JsonValue, jsonValues, type Level } from "./jsonValues.ts";
import { type FileRow, isObject, type RowFile, toItem } from "./rows.ts";
import { FileError, type Input } from "./text.ts";

/**
 * Opens a JSON file: a list of rows, or an object with `rows` and, before them, `columns`, as `gabbro export` and
 * `GET /datasets/{slug}` write it. The file is never in memory as a whole.
 */
export async function openJson(input: Input): Promise<RowFile> {
  const reading = createAssembly("one with a list", leadsToRows);
  const rows = rowsOf(input, reading);
  const first = await rows.next();
  const head = headOf(input, reading.root());
  const columns = head?.columns ?? null;
  const before = columns ? `{"columns":${JSON.stringify(columns)},"rows":[\n` : "[\n";
  return {
    name: head?.name ?? null,
    columns,
    rows: withFirst(first, rows),
    rejectedFile: {
      before,
      between: ",\n",
      after: columns ? "\n]}\n" : "\n]\n",
      write: toDeepJson,
    },
  };
}

async function* withFirst(first: IteratorResult<FileRow>, rows: AsyncIterable<FileRow>) {
  if (!first.done) yield first.value;
  yield* rows;
}

function headOf(
  { path }: Input,
  root: unknown,
): { name?: string | null | undefined; columns: Column[] } | null {
  if (!isObject(root)) return null;
  const source = isObject(root.dataset) ? root.dataset : root;
  if (!("columns" in source)) return null;
  const head = fileHead.safeParse(source);
  if (head.success) return head.data;
  const [detail] = detailsOf(head.error.issues);
  throw new FileError(path, 1, `${detail?.path} ${detail?.message}.`);
}

/** Whether a list has the rows: the outermost list, the member `rows`, or `rows` of the member `dataset`. */
function leadsToRows([outer, inner, ...more]: Level[]): boolean {
  if (!outer) return true;
  if (!inner) return outer.key === "rows";
  return more.length === 0 && outer.key === "dataset" && inner.key === "rows";
}

async function* rowsOf(input: Input, reading: Assembly): AsyncGenerator<FileRow> {
  for await (const value of jsonValues(input, reading)) yield toRow(value);
}

function toRow({ value, line, size }: JsonValue): FileRow {
  return { line, source: value, size, ...toItem({ value, details: inexactNumbers(value) }) };
}
