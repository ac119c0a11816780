import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Dialog } from "../../parts/Dialog.tsx";
import { TextField } from "../../parts/Field.tsx";
import { SaveForm } from "../../parts/SaveForm.tsx";
import { useNameAndSlug } from "../../parts/useNameAndSlug.tsx";

const CreateDataset = graphql(`
  mutation CreateDataset($input: CreateDatasetInput!) {
    createDataset(input: $input) {
      dataset {
        id
        slug
      }
    }
  }
`);

export function NewDataset({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const save = useSave(CreateDataset);
  const { name, slug, fields } = useNameAndSlug();
  const [columns, setColumns] = useState("question");
  const submit = async () => {
    const names = columns.split(",").flatMap((column) => column.trim() || []);
    const input = {
      slug,
      name,
      columns: names.map((column) => ({ name: column, type: "TEXT" as const })),
    };
    if (await save.run({ input })) await navigate({ to: "/datasets/$slug", params: { slug }, replace: true });
  };
  return (
    <Dialog title="New dataset" onClose={onClose}>
      <SaveForm verb="Create" save={save} isReady={slug !== ""} onSubmit={submit} onCancel={onClose}>
        {fields}
        <TextField
          label="Columns"
          required
          value={columns}
          onChange={(event) => setColumns(event.target.value)}
          hint="Their names, with commas between. Each row has an ideal output beside them."
        />
      </SaveForm>
    </Dialog>
  );
}
