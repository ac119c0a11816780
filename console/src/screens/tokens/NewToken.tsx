import { useState } from "react";
import { useSave } from "../../data.ts";
import type { Scope } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { PlainText } from "../../parts/CodeText.tsx";
import { CopyButton } from "../../parts/CopyButton.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { CheckBox, FormButtons, TextField } from "../../parts/Field.tsx";
import { SaveForm } from "../../parts/SaveForm.tsx";
import type { Session } from "../../session.ts";

const CreateToken = graphql(`
  mutation CreateToken($input: CreateAccessTokenInput!) {
    createAccessToken(input: $input) {
      token
      accessToken {
        id
        name
      }
    }
  }
`);

const scopes: { scope: Scope; label: string }[] = [
  { scope: "READ", label: "read: everything in the workspace" },
  { scope: "WRITE", label: "write: prompts, datasets and logs" },
  { scope: "PUBLISH", label: "publish: move and protect tags" },
  { scope: "ADMIN", label: "admin: tokens, prices and the audit log" },
];

export function NewToken({ allowed, onClose }: { allowed: Session["scopes"]; onClose: () => void }) {
  const save = useSave(CreateToken);
  const [name, setName] = useState("");
  const [days, setDays] = useState("");
  const [chosen, setChosen] = useState<Scope[]>(allowed.includes("read") ? ["READ"] : []);
  const [token, setToken] = useState<string | null>(null);
  const submit = async () => {
    const expiresAt = days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null;
    const data = await save.run({ input: { name, scopes: chosen, expiresAt } });
    if (data) setToken(data.createAccessToken.token);
  };
  const toggle = (scope: Scope) =>
    setChosen((now) => (now.includes(scope) ? now.filter((one) => one !== scope) : [...now, scope]));
  if (token) return <Made token={token} onClose={onClose} />;
  return (
    <Dialog title="New token" onClose={onClose}>
      <SaveForm
        verb="Create"
        save={save}
        isReady={name !== "" && chosen.length > 0}
        onSubmit={submit}
        onCancel={onClose}
      >
        <TextField
          label="Name"
          required
          value={name}
          onChange={(event) => setName(event.target.value)}
          hint="What it is for, such as ci."
        />
        <div>
          {scopes
            .filter(({ scope }) => allowed.some((own) => own.toUpperCase() === scope))
            .map(({ scope, label }) => (
              <CheckBox
                key={scope}
                label={label}
                checked={chosen.includes(scope)}
                onChange={() => toggle(scope)}
              />
            ))}
        </div>
        <TextField
          label="Days until it ends"
          type="number"
          min="1"
          max="36500"
          value={days}
          onChange={(event) => setDays(event.target.value)}
          hint="Empty for never."
        />
      </SaveForm>
    </Dialog>
  );
}

function Made({ token, onClose }: { token: string; onClose: () => void }) {
  return (
    <Dialog title="Keep this token" onClose={onClose}>
      <p>It is shown only now.</p>
      <PlainText text={token} />
      <FormButtons>
        <CopyButton text={token} label="Copy the token" />
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </FormButtons>
    </Dialog>
  );
}
