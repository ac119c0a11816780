import { useState } from "react";
import { useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { Form, FormButtons, TextField } from "../../parts/Field.tsx";
import { ErrorNotice } from "../../parts/Notice.tsx";
import { useToast } from "../../parts/Toast.tsx";
import type { PromptHeadOf } from "./PromptScreen.tsx";

const PublishPrompt = graphql(`
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
  const { run, error, isRunning } = useSave(PublishPrompt);
  const [tag, setTag] = useState("production");
  const toast = useToast();
  const current = prompt.tags.find(({ label }) => label === tag);
  const submit = async () => {
    if (!(await run({ slug: prompt.slug, tag, version }))) return;
    toast(`${tag} points to ${version}`);
    onClose();
  };
  return (
    <Dialog title={`Publish ${version}`} onClose={onClose}>
      <Form onSubmit={() => void submit()}>
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
        {error && <ErrorNotice error={error} />}
        <FormButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={isRunning || tag === ""}>
            Publish
          </Button>
        </FormButtons>
      </Form>
    </Dialog>
  );
}
