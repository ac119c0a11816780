import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Dialog } from "../../parts/Dialog.tsx";
import { TextField } from "../../parts/Field.tsx";
import { SaveForm } from "../../parts/SaveForm.tsx";
import { slugOf } from "../../parts/slug.ts";

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
  const [name, setName] = useState("");
  const [slug, setSlug] = useState<string | null>(null);
  const [description, setDescription] = useState("");
  const shownSlug = slug ?? slugOf(name);
  const submit = async () => {
    const input = { slug: shownSlug, name: name || null, description: description || null };
    const data = await save.run({ input });
    if (data)
      await navigate({
        to: "/prompts/$slug",
        params: { slug: shownSlug },
        search: { view: "edit" },
        replace: true,
      });
  };
  return (
    <Dialog title="New prompt" onClose={onClose}>
      <SaveForm verb="Create" save={save} isReady={shownSlug !== ""} onSubmit={submit} onCancel={onClose}>
        <TextField label="Name" required value={name} onChange={(event) => setName(event.target.value)} />
        <TextField
          label="Slug"
          required
          value={shownSlug}
          onChange={(event) => setSlug(event.target.value)}
          hint="Applications ask for the prompt by it. It stays as it is."
        />
        <TextField
          label="Description"
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
      </SaveForm>
    </Dialog>
  );
}
