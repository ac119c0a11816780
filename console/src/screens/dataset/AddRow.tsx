import { useState } from "react";
import { useSave } from "../../data.ts";
import type { ColumnType } from "../../gql/graphql.ts";
import { graphql, readFragment } from "../../gql/index.ts";
import { AskToLeave } from "../../parts/AskToLeave.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { TextArea } from "../../parts/Field.tsx";
import { Warnings } from "../../parts/Notice.tsx";
import { SaveForm } from "../../parts/SaveForm.tsx";
import { type CellText, itemOf } from "./block.ts";
import { gridColumnsOf, type Row } from "./cells.ts";
import { GridRowFields } from "./gridRowFields.ts";

const AddDatasetRow = graphql(`
  mutation AddDatasetRow($slug: String!, $input: DatasetItemInput!) {
    addDatasetItem(slug: $slug, input: $input) {
      datasetRow {
        ...GridRow
      }
      warnings {
        message
      }
    }
  }
`);

interface Props {
  slug: string;
  columns: readonly { name: string; type: ColumnType }[];
  onAdded: (row: Row) => void;
  onClose: () => void;
}

export function AddRow({ slug, columns, onAdded, onClose }: Props) {
  const save = useSave(AddDatasetRow);
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [warnings, setWarnings] = useState<readonly { message: string }[]>([]);
  // As they were at first: a field keeps its text while others rename its column, and Gabbro warns of it.
  const [gridColumns] = useState(() => gridColumnsOf(columns));
  const submit = async () => {
    const cells = gridColumns.map((column): CellText => [column, texts[column.key] ?? ""]);
    const data = await save.run({ slug, input: itemOf(cells) });
    if (!data) return;
    const { datasetRow, warnings } = data.addDatasetItem;
    onAdded(readFragment(GridRowFields, datasetRow));
    if (warnings.length === 0) onClose();
    else setWarnings(warnings);
  };
  return (
    <Dialog title="Add row" onClose={onClose}>
      <AskToLeave placeOf={({ pathname }) => pathname} isUnsaved={() => Object.values(texts).some(Boolean)}>
        The row that you are writing is not stored yet.
      </AskToLeave>
      <SaveForm verb="Add" save={save} isReady={warnings.length === 0} onSubmit={submit} onCancel={onClose}>
        {gridColumns.map(({ key, title, type }) => (
          <TextArea
            key={key}
            label={title}
            rows={1}
            value={texts[key] ?? ""}
            onChange={(event) => setTexts((now) => ({ ...now, [key]: event.target.value }))}
            hint={type === "JSON" ? "JSON" : null}
          />
        ))}
        <Warnings warnings={warnings} />
      </SaveForm>
    </Dialog>
  );
}
