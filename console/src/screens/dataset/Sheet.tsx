import { useState } from "react";
import type { CombinedError } from "urql";
import { AskToLeave } from "../../parts/AskToLeave.tsx";
import { Button } from "../../parts/Button.tsx";
import { Confirm } from "../../parts/Confirm.tsx";
import { Empty, ErrorNotice } from "../../parts/Notice.tsx";
import { useSettled } from "../../parts/useSettled.ts";
import type { Search } from "../../search.ts";
import { AddRow } from "./AddRow.tsx";
import { ColumnsDialog } from "./ColumnsDialog.tsx";
import { type GridColumn, gridColumnsOf, type Row } from "./cells.ts";
import type { Column } from "./columnChanges.ts";
import { Grid } from "./Grid.tsx";
import { LostTexts } from "./LostTexts.tsx";
import { ReportNotice } from "./Report.tsx";
import { isColumnGone, isRowGone } from "./rowChanges.ts";
import { StoringProgress } from "./StoringProgress.tsx";
import { useColumnChange } from "./useColumnChange.ts";
import { useEdits } from "./useEdits.ts";
import { usePaste } from "./usePaste.ts";
import type { Place } from "./usePlace.ts";
import { useRowChanges } from "./useRowChanges.ts";
import type { useRows } from "./useRows.ts";
import { useStoring } from "./useStoring.ts";
import { useUndoKey } from "./useUndoKey.ts";

interface Props {
  slug: string;
  rows: ReturnType<typeof useRows>;
  place: Place;
  columns: readonly Column[];
  isOld: boolean;
  /** The dialog in the address. */
  dialog: string | undefined;
  onDialog: (dialog: string | undefined) => void;
  onChange: () => void;
}

/** The grid, and what happens to its rows and columns. */
export function Sheet({ slug, rows, place, columns, isOld, dialog, onDialog, onChange }: Props) {
  const { list, error, held } = rows;
  const gridColumns = gridColumnsOf(columns);
  const storing = useStoring({ slug, rows: held, onStored: onChange });
  const { edit, added, remove, takeStep } = useRowChanges(storing);
  const { edits, save, dropFailed, isUnsaved } = useEdits(edit);
  const { paste, progress, cancel, report, closeReport } = usePaste(storing, gridColumns, dropFailed);
  const isPasting = useSettled(progress !== null);
  useUndoKey((kind) => isOld || takeStep(kind));
  const columnChange = useColumnChange(storing);
  const [deleting, setDeleting] = useState<Row | null>(null);
  const notice = error && <ErrorNotice error={error} onRetry={() => held.retry()} />;
  const unsaved = [...edits.values()].filter(({ error }) => error);
  const lost = unsaved.filter(({ error }) => isRowGone(error) || isColumnGone(error));
  const failed = unsaved.filter((edit) => !lost.includes(edit));
  const retry = () => {
    for (const { row, column, text } of failed) save(row, column, text);
  };
  const actions = {
    edit: save,
    takeBack: (row: Row, column: GridColumn) => dropFailed(row, [column]),
    remove: setDeleting,
    ...{ paste, changeColumns: () => onDialog("columns") },
  };
  return (
    <>
      <AskToLeave placeOf={shownAt} isUnsaved={() => storing.isBusy || isUnsaved()} onLeave={leaveField}>
        What you typed or pasted is not all stored yet.
      </AskToLeave>
      {notice}
      {failed[0]?.error && <ErrorNotice error={failed[0].error} keepsText onRetry={retry} />}
      <LostTexts edits={lost} onDrop={({ row, column }) => dropFailed(row, [column])} />
      {isPasting && progress && <StoringProgress progress={progress} onCancel={cancel} />}
      {report && <ReportNotice report={report} onClose={closeReport} />}
      <Grid rows={rows} place={place} columns={gridColumns} edits={edits} actions={isOld ? null : actions} />
      {list.count === 0 && <NoRows onAdd={isOld ? null : () => onDialog("add")} />}
      {deleting && <DeleteRowDialog row={deleting} onDelete={remove} onClose={() => setDeleting(null)} />}
      {dialog === "add" && !isOld && (
        <AddRow slug={slug} columns={columns} onClose={() => onDialog(undefined)} onAdded={added} />
      )}
      {dialog === "columns" && !isOld && (
        <ColumnsDialog
          columns={columns}
          columnChange={columnChange}
          isReady={failed.length === 0}
          onClose={() => onDialog(undefined)}
        />
      )}
    </>
  );
}

function NoRows({ onAdd }: { onAdd: (() => void) | null }) {
  return (
    <Empty title="No rows yet" action={onAdd && <Button onClick={onAdd}>Add a row</Button>}>
      Paste a block of a spreadsheet, or drop a file. Rows also come from logs, by “Add to dataset”.
    </Empty>
  );
}

/** Saves the text of the open field, which is sent when it is left. */
const leaveField = () => {
  if (document.activeElement instanceof HTMLTextAreaElement) document.activeElement.blur();
};

/** What an address shows: a dialog over the grid does not leave it. */
const shownAt = ({ pathname, search }: { pathname: string; search: Search }): string =>
  `${pathname} ${search.version}`;

interface DeleteProps {
  row: Row;
  onDelete: (row: Row) => Promise<{ error?: CombinedError }>;
  onClose: () => void;
}

function DeleteRowDialog({ row, onDelete, onClose }: DeleteProps) {
  const [error, setError] = useState<CombinedError>();
  const [isRunning, setIsRunning] = useState(false);
  const confirm = async () => {
    setIsRunning(true);
    const outcome = await onDelete(row);
    setIsRunning(false);
    if (outcome.error) setError(outcome.error);
    else onClose();
  };
  return (
    <Confirm
      title="Delete this row?"
      verb="Delete"
      error={error}
      isRunning={isRunning}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      Earlier versions of the dataset keep it; Ctrl Z adds it again.
    </Confirm>
  );
}
