import { Button } from "../../parts/Button.tsx";
import { PlainText } from "../../parts/CodeText.tsx";
import { Notice } from "../../parts/Notice.tsx";
import type { Edit } from "./useEdits.ts";

/** Texts that were typed into rows or columns which others have removed: no cell shows them any more. */
export function LostTexts({ edits, onDrop }: { edits: Edit[]; onDrop: (edit: Edit) => void }) {
  return edits.map((edit) => (
    <Notice key={`${edit.row.id} ${edit.column.key}`}>
      Somebody has removed the cell into which you typed this, in the column “{edit.column.title}”:
      <PlainText text={edit.text} />
      <Button onClick={() => onDrop(edit)}>Drop the text</Button>
    </Notice>
  ));
}
