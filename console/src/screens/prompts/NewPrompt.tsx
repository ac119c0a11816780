import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { Form, FormButtons, TextField } from "../../parts/Field.tsx";
import { ErrorNotice } from "../../parts/Notice.tsx";
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
  const { run, error, isRunning } = useSave(CreatePrompt);
  const [name, setName] = useState("");
  const [slug, setSlug] = useState<string | null>(null);
  const [description, setDescription] = useState("");
  const shownSlug = slug ?? slugOf(name);
  const submit = async () => {
    const input = { slug: shownSlug, name: name || null, description: description || null };
    const data = await run({ input });
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
      <Form onSubmit={() => void submit()}>
        <TextField
          label="Name"
          autoFocus
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
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
        {error && <ErrorNotice error={error} />}
        <FormButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={isRunning || shownSlug === ""}>
            Create
          </Button>
        </FormButtons>
      </Form>
    </Dialog>
  );
}
