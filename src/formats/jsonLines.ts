import { z } from "zod";
import { columnInput } from "../datasets/inputs.ts";
import { detailsOf } from "../validation/messages.ts";
import { parseExactJson, TOO_DEEP } from "./exactJson.ts";
import { type FileRow, isObject, type RowFile, toItem } from "./rows.ts";
import { FileError, type Input, MAX_ROW_CHARACTERS, piecesOf } from "./text.ts";

/** Opens a file of JSON Lines: one row a line, after an optional first line `{"dataset": {…}}` with the columns. */
export async function openJsonLines(input: Input): Promise<RowFile> {
  const lines = wholeLinesOf(input);
  const { value: first } = await lines.next();
  const head = first && headOf(first, input.path);
  return {
    name: head?.name ?? null,
    columns: head?.columns ?? null,
    rows: rowsOf(lines, head ? undefined : first),
    rejectedFile: {
      before: head ? `${first?.text}\n` : "",
      between: "",
      after: "",
      write: (line) => `${line}\n`,
    },
  };
}

/** A line of a file; `text` is null where it is too long. */
export interface Line {
  line: number;
  text: string | null;
}

type WholeLine = Line & { text: string };

async function* rowsOf(
  lines: AsyncIterable<WholeLine>,
  first: WholeLine | undefined,
): AsyncGenerator<FileRow> {
  if (first) yield toRow(first);
  for await (const line of lines) yield toRow(line);
}

function toRow({ line, text }: WholeLine): FileRow {
  const row = { line, extraNames: [], source: text, size: text.length };
  try {
    return { ...row, ...toItem(parseExactJson(text)) };
  } catch (error) {
    const message = error instanceof RangeError ? TOO_DEEP : "is not valid JSON";
    return { ...row, item: null, details: [{ path: "", message }] };
  }
}

/** The head of a file: its dataset's name and columns. Other members, such as the slug, are ignored. */
export const fileHead = z.object({
  name: z.string().nullish(),
  columns: z.array(columnInput),
});

function headOf({ text, line }: WholeLine, path: string) {
  if (!text.startsWith("{")) return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isObject(value) || !isObject(value.dataset) || Object.keys(value).length > 1) return null;
  if (!("columns" in value.dataset)) return null; // a row with a column of that name
  const head = fileHead.safeParse(value.dataset);
  if (head.success) return head.data;
  const [detail] = detailsOf(head.error.issues);
  throw new FileError(path, line, `dataset.${detail?.path} ${detail?.message}.`);
}

async function* wholeLinesOf(input: Input): AsyncGenerator<WholeLine> {
  for await (const { line, text } of linesOf(input, MAX_ROW_CHARACTERS)) {
    if (text === null) throw new FileError(input.path, line, "this line is longer than 16 MB.");
    yield { line, text };
  }
}

/** The lines of a file that are not blank, split at line feeds only: JSON may hold U+2028. */
export async function* linesOf(input: Input, maxCharacters: number): AsyncGenerator<Line> {
  let line = 1;
  let rest: string | null = "";
  for await (const piece of piecesOf(input)) {
    const [beginning = "", ...lines] = piece.split("\n");
    if (rest !== null) rest += beginning;
    if (rest !== null && rest.length > maxCharacters) rest = null;
    for (const next of lines) {
      if (rest === null || rest.trim() !== "") yield { line, text: rest?.trim() ?? null };
      line++;
      rest = next;
    }
  }
  if (rest === null || rest.trim() !== "") yield { line, text: rest?.trim() ?? null };
}
