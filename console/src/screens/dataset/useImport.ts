import { useEffect, useRef, useState } from "react";
import { type CombinedError, useClient } from "urql";
import { sentenceOf } from "../../parts/Notice.tsx";
import { batchesOf } from "./batches.ts";
import type { GridColumn } from "./cells.ts";
import { type FileRow, readRows } from "./fileRows.ts";
import type { Report } from "./Report.tsx";
import { addRows } from "./rowChanges.ts";
import type { Progress } from "./StoringProgress.tsx";

interface Options {
  slug: string;
  columns: GridColumn[];
  onDone: () => void;
}

/** Adds the rows of a file, batch by batch, and reports those that were refused. */
export function useImport({ slug, columns, onDone }: Options) {
  const client = useClient();
  const [progress, setProgress] = useState<Progress | null>(null);
  const [report, setReport] = useState<Report | null>(null);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []); // nobody would see how it goes on
  const start = async (file: File) => {
    if (running.current) return;
    running.current = new AbortController();
    const { signal } = running.current;
    const result: Report = { changed: 0, added: 0, stored: 0, refused: [], problem: null };
    const show = (share: number) =>
      setProgress({ title: `Import of ${file.name}`, share, stored: result.stored });
    const send = async (rows: FileRow[]) => {
      const { warning, error } = await sendRows(rows, result, (items) => addRows(client, slug, items));
      result.problem ??= warning;
      if (error) throw new Error(`Stopped at row ${rows[0]!.row}: ${sentenceOf(error)}`);
    };
    setReport(null);
    show(0);
    try {
      await readRows(file, {
        ...{ columns, signal },
        onRows: async (rows, share) => {
          for (const batch of batchesOf(rows)) {
            if (signal.aborted) return;
            await send(batch);
            show(share);
          }
        },
      });
      if (signal.aborted) result.problem = "Cancelled.";
    } catch (error) {
      result.problem = error instanceof Error ? error.message : String(error);
    }
    running.current = null;
    setProgress(null);
    setReport(result);
    onDone();
  };
  const cancel = () => running.current?.abort();
  return { start, cancel, progress, report, closeReport: () => setReport(null) };
}

type Add = (items: NonNullable<FileRow["item"]>[]) => ReturnType<typeof addRows>;

/** Adds rows, and notes in the report what became of each. */
async function sendRows(
  rows: FileRow[],
  report: Report,
  add: Add,
): Promise<{ warning: string | null; error: CombinedError | undefined }> {
  const valid = rows.filter(({ item }) => item !== null);
  const refuse = ({ row }: FileRow, message: string) => report.refused.push({ row, message });
  for (const row of rows) if (row.item === null) refuse(row, row.message);
  if (valid.length === 0) return { warning: null, error: undefined };
  const { data, error } = await add(valid.map(({ item }) => item!));
  if (error) return { warning: null, error }; // of the request as a whole, and so would be those of the next
  for (const { index, message } of data?.errors ?? []) refuse(valid[index]!, message);
  report.stored += (data?.rows ?? []).filter((row) => row !== null).length;
  return { warning: data?.warning ?? null, error: undefined };
}
