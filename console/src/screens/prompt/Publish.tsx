import { useState } from "react";
import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Dialog } from "../../parts/Dialog.tsx";
import { TextField } from "../../parts/Field.tsx";
import { SaveForm } from "../../parts/SaveForm.tsx";
import { useToast } from "../../parts/Toast.tsx";
import type { PromptHeadOf } from "./queries.ts";

export const PublishPrompt = graphql(`
  mutation PublishPrompt($slug: String!, $tag: String!, $version: String!) {
    publishPrompt(slug: $slug, input: { newTag: $tag, to: { version: $version } }) {
      promptTag {
        id
        label
        version
      }
      prompt {
        id
      }
      warnings {
        message
      }
    }
  }
`);

export function Publish({
  prompt,
  version,
  onClose,
}: {
  prompt: PromptHeadOf;
  version: string;
  onClose: () => void;
}) {
  const save = useSave(PublishPrompt);
  const [tag, setTag] = useState("production");
  const toast = useToast();
  const current = prompt.tags.find(({ label }) => label === tag);
  const submit = async () => {
    if (!(await save.run({ slug: prompt.slug, tag, version }))) return;
    toast(`${tag} points to ${version}`);
    onClose();
  };
  return (
    <Dialog title={`Publish ${version}`} onClose={onClose}>
      <SaveForm verb="Publish" save={save} isReady={tag !== ""} onSubmit={submit} onCancel={onClose}>
        <TextField
          label="Tag"
          list="tags-of-prompt"
          required
          value={tag}
          onChange={(event) => setTag(event.target.value)}
          hint={
            current
              ? current.version === version
                ? `It points to ${version} already.`
                : `It points to ${current.version} now. Applications that ask for it get ${version} from the next call on.`
              : "It is a new tag."
          }
        />
        <datalist id="tags-of-prompt">
          {prompt.tags.map(({ id, label }) => (
            <option key={id} value={label} />
          ))}
        </datalist>
      </SaveForm>
    </Dialog>
  );
}
