import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useData, useSave } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { AskToLeave } from "../../parts/AskToLeave.tsx";
import { Button } from "../../parts/Button.tsx";
import { Form, FormButtons, TextField } from "../../parts/Field.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { ErrorNotice } from "../../parts/Notice.tsx";
import { Card } from "../../parts/Page.tsx";
import { useToast } from "../../parts/Toast.tsx";
import type { Search } from "../../search.ts";
import { asMessages, type Draft, draftOf, inputOf } from "./draft.ts";
import { MessagesEditor } from "./MessagesEditor.tsx";
import styles from "./Prompt.module.css";
import { type PromptHeadOf, type Version, VersionTexts } from "./queries.ts";
import { TemplateArea } from "./TemplateArea.tsx";

const CreateVersion = graphql(`
  mutation CreateVersion($slug: String!, $input: PromptVersionInput!) {
    createPromptVersion(slug: $slug, input: $input) {
      promptVersion {
        id
        version
      }
      warnings {
        message
      }
    }
  }
`);

/** Writes a new version, beginning with the one that is shown. */
export function Editor({ prompt, base }: { prompt: PromptHeadOf; base: string | undefined }) {
  const variables = { slug: prompt.slug, version: base ?? "" };
  const result = useData(VersionTexts, variables, { isPaused: !base, isFixed: true, isExact: true });
  if (!base) return <DraftForm prompt={prompt} base={null} />;
  return (
    <Loaded result={result}>
      {({ describePrompt }) => (
        <DraftForm key={base} prompt={prompt} base={describePrompt?.promptVersion ?? null} />
      )}
    </Loaded>
  );
}

function DraftForm({ prompt, base }: { prompt: PromptHeadOf; base: Version | null }) {
  const { slug } = prompt;
  const navigate = useNavigate();
  const toast = useToast();
  const { run, error, isRunning } = useSave(CreateVersion);
  const [blank] = useState<Draft>(() => draftOf(base, prompt.availableVersions));
  const [draft, setDraft] = useState(blank);
  const change = (part: Partial<Draft>) => setDraft((now) => ({ ...now, ...part }));
  const submit = async () => {
    const data = await run({ slug, input: inputOf(draft) });
    if (!data) return;
    toast(`Version ${draft.version} is stored`);
    const search = base
      ? { view: "compare", version: draft.version, from: base.version }
      : { version: draft.version };
    await navigate({ to: "/prompts/$slug", params: { slug }, search, replace: true, ignoreBlocker: true });
  };
  return (
    <Card>
      <AskToLeave placeOf={editedAt} isUnsaved={() => draft !== blank}>
        The version that you are writing is not stored yet.
      </AskToLeave>
      <Form onSubmit={() => void submit()}>
        <TextField
          label="Version"
          required
          value={draft.version}
          onChange={(event) => change({ version: event.target.value })}
          hint={base ? `It begins with the texts of ${base.version}.` : "By habit a semantic version."}
        />
        {draft.messages && (
          <MessagesEditor messages={draft.messages} onChange={(messages) => change({ messages })} />
        )}
        {draft.own.systemText && (
          <TemplateArea
            label="System text"
            value={draft.systemText}
            onChange={(systemText) => change({ systemText })}
          />
        )}
        {draft.own.text && (
          <TemplateArea
            label="Text"
            isRequired
            value={draft.text}
            onChange={(text) => change({ text })}
            hint="A Jinja template: {{ country }} stands for a variable."
          />
        )}
        <ModelFields draft={draft} onChange={change} />
        {error && <ErrorNotice error={error} keepsText />}
        <FormButtons>
          {!base && !draft.messages && (
            <Button onClick={() => change(asMessages(draft))}>Write messages instead</Button>
          )}
          <Button kind="primary" type="submit" disabled={isRunning || draft.version === ""}>
            Create version
          </Button>
        </FormButtons>
      </Form>
    </Card>
  );
}

/** What an address edits: a dialog over the editor does not leave it. */
function editedAt({ pathname, search }: { pathname: string; search: Search }): string | null {
  return search.view === "edit" ? `${pathname} ${search.version}` : null;
}

function ModelFields({ draft, onChange }: { draft: Draft; onChange: (part: Partial<Draft>) => void }) {
  return (
    <div className={styles.pair}>
      <TextField
        label="Model"
        value={draft.model}
        placeholder="gpt-4o-mini"
        onChange={(event) => onChange({ model: event.target.value })}
      />
      <TextField
        label="Provider"
        value={draft.provider}
        placeholder="openai"
        onChange={(event) => onChange({ provider: event.target.value })}
      />
    </div>
  );
}
