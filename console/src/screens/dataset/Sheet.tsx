import { useState } from "react";
import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { Confirm } from "../../parts/Confirm.tsx";
import { Empty, ErrorNotice } from "../../parts/Notice.tsx";
import type { GridColumn, Row } from "./cells.ts";
import { Grid } from "./Grid.tsx";
import { useEdits } from "./useEdits.ts";
import type { useRows } from "./useRows.ts";

const DeleteRow = graphql(`
  mutation DeleteRow($id: ID!) {
    deleteDatasetItem(id: $id) {
      deletedDatasetItemId
    }
  }
`);

interface Props {
  rows: ReturnType<typeof useRows>;
  columns: GridColumn[];
  isOld: boolean;
  onAdd: () => void;
  onChange: () => void;
}

/** The grid, and what happens to its rows. */
export function Sheet({ rows: { rows, hasMore, error, loadMore, change, remove }, ...props }: Props) {
  const { columns, isOld, onAdd, onChange } = props;
  const { edits, save, drop } = useEdits({ change, onStored: onChange });
  const [deleting, setDeleting] = useState<Row | null>(null);
  const notice = error && <ErrorNotice error={error} onRetry={() => void loadMore()} />;
  if (error && rows.length === 0) return notice;
  if (rows.length === 0 && !hasMore)
    return (
      <Empty title="No rows yet" action={!isOld && <Button onClick={onAdd}>Add a row</Button>}>
        Rows also come from logs, by “Add to dataset”, and from files, by{" "}
        <code>npx gabbro import dataset</code>.
      </Empty>
    );
  const failed = [...edits.values()].filter((edit) => edit.error);
  const retry = () => {
    for (const { row, column, text } of failed) save(row, column, text);
  };
  return (
    <>
      {notice}
      {failed[0]?.error && <ErrorNotice error={failed[0].error} keepsText onRetry={retry} />}
      <Grid
        rows={rows}
        columns={columns}
        edits={edits}
        hasMore={hasMore}
        onMore={() => void loadMore()}
        {...(!isOld && { onEdit: save, onTakeBack: drop, onDelete: setDeleting })}
      />
      {deleting && (
        <DeleteRowDialog
          row={deleting}
          onClose={() => setDeleting(null)}
          onDeleted={() => {
            remove(deleting.id);
            setDeleting(null);
            onChange();
          }}
        />
      )}
    </>
  );
}

function DeleteRowDialog({
  row,
  onClose,
  onDeleted,
}: {
  row: Row;
  onClose: () => void;
  onDeleted: () => void;
}) {
  const { run, error, isRunning } = useSave(DeleteRow);
  const confirm = async () => {
    if (await run({ id: row.id })) onDeleted();
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
      Earlier versions of the dataset keep it.
    </Confirm>
  );
}
