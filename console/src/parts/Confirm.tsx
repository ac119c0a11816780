import type { ReactNode } from "react";
import type { CombinedError } from "urql";
import { Button } from "./Button.tsx";
import { Dialog } from "./Dialog.tsx";
import { FormButtons } from "./Field.tsx";
import styles from "./Notice.module.css";
import { ErrorNotice } from "./Notice.tsx";

interface Props {
  title: string;
  verb: string;
  error: CombinedError | undefined;
  isRunning: boolean;
  onConfirm: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** Asks before something that cannot be taken back. */
export function Confirm({ title, verb, error, isRunning, onConfirm, onClose, children }: Props) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p className={styles.asked}>{children}</p>
      {error && <ErrorNotice error={error} />}
      <FormButtons>
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="danger" disabled={isRunning} onClick={onConfirm}>
          {verb}
        </Button>
      </FormButtons>
    </Dialog>
  );
}
