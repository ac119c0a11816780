import { useState } from "react";
import type { CombinedError } from "urql";
import { AskToLeave } from "../../parts/AskToLeave.tsx";
import { Button } from "../../parts/Button.tsx";
import { Confirm } from "../../parts/Confirm.tsx";
import { Empty, ErrorNotice } from "../../parts/Notice.tsx";
import type { Search } from "../../search.ts";
import { ColumnsDialog } from "./ColumnsDialog.tsx";
import { type GridColumn, gridColumnsOf, type Row } from "./cells.ts";
import type { Column } from "./columnChanges.ts";
import { Grid } from "./Grid.tsx";
import { ReportNotice } from "./Report.tsx";
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
export function Sheet({ slug, rows: read, place, columns, isOld, dialog, onDialog, onChange }: Props) {
  const { rows, hasMore, error, loadMore } = read;
  const gridColumns = gridColumnsOf(columns);
  const storing = useStoring({ slug, rows: read, onStored: onChange });
  const { edit, remove, undo } = useRowChanges(storing);
  const { edits, save, dropFailed, isUnsaved } = useEdits(edit);
  const { paste, report, closeReport } = usePaste(storing, gridColumns, dropFailed);
  useUndoKey(() => isOld || undo());
  const columnChange = useColumnChange(storing);
  const [deleting, setDeleting] = useState<Row | null>(null);
  const notice = error && <ErrorNotice error={error} onRetry={() => void loadMore()} />;
  if (error && rows.length === 0) return notice;
  const failed = [...edits.values()].filter((edit) => edit.error);
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
      <AskToLeave placeOf={shownAt} isUnsaved={isUnsaved} onLeave={leaveField}>
        A text that you typed into a cell is not stored yet.
      </AskToLeave>
      {notice}
      {failed[0]?.error && <ErrorNotice error={failed[0].error} keepsText onRetry={retry} />}
      {report && <ReportNotice report={report} onClose={closeReport} />}
      <Grid
        rows={rows}
        place={place}
        columns={gridColumns}
        edits={edits}
        hasMore={hasMore}
        onMore={() => void loadMore()}
        actions={isOld ? null : actions}
      />
      {rows.length === 0 && !hasMore && <NoRows onAdd={isOld ? null : () => onDialog("add")} />}
      {deleting && <DeleteRowDialog row={deleting} onDelete={remove} onClose={() => setDeleting(null)} />}
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
  onDelete: (row: Row) => Promise<{ error?: CombinedError | undefined }>;
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
