import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Dialog } from "../../parts/Dialog.tsx";
import { TextField } from "../../parts/Field.tsx";
import { SaveForm } from "../../parts/SaveForm.tsx";
import { useNameAndSlug } from "../../parts/useNameAndSlug.tsx";

const CreatePrompt = graphql(`
  mutation CreatePrompt($input: CreatePromptInput!) {
    createPrompt(input: $input) {
      prompt {
        id
        slug
      }
    }
  }
`);

export function NewPrompt({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const save = useSave(CreatePrompt);
  const { name, slug, fields } = useNameAndSlug("Applications ask for the prompt by it. It stays as it is.");
  const [description, setDescription] = useState("");
  const submit = async () => {
    const input = { slug, name: name || null, description: description || null };
    const data = await save.run({ input });
    if (data)
      await navigate({
        to: "/prompts/$slug",
        params: { slug },
        search: { view: "edit" },
        replace: true,
      });
  };
  return (
    <Dialog title="New prompt" onClose={onClose}>
      <SaveForm verb="Create" save={save} isReady={slug !== ""} onSubmit={submit} onCancel={onClose}>
        {fields}
        <TextField
          label="Description"
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
      </SaveForm>
    </Dialog>
  );
}
