import type { ReactNode } from "react";
import type { CombinedError } from "urql";
import { Button } from "./Button.tsx";
import { Form, FormButtons } from "./Field.tsx";
import { ErrorNotice } from "./Notice.tsx";

interface Props {
  /** What the button says that submits it. */
  verb: string;
  save: { error: CombinedError | undefined; isRunning: boolean };
  /** Whether its fields can be submitted, beyond what the browser checks. */
  isReady?: boolean;
  onSubmit: () => Promise<void>;
  onCancel: () => void;
  children: ReactNode;
}

/** Fields that one mutation saves, with its error and its buttons. */
export function SaveForm({ verb, save, isReady = true, onSubmit, onCancel, children }: Props) {
  return (
    <Form onSubmit={() => void onSubmit()}>
      {children}
      {save.error && <ErrorNotice error={save.error} keepsText />}
      <FormButtons>
        <Button onClick={onCancel}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={save.isRunning || !isReady}>
          {verb}
        </Button>
      </FormButtons>
    </Form>
  );
}
