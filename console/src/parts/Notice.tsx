import type { ReactNode } from "react";
import type { CombinedError } from "urql";
import { Button } from "./Button.tsx";
import styles from "./Notice.module.css";

/** What is worth knowing beside the content of a screen. */
export function Notice({ children }: { children: ReactNode }) {
  return (
    <div className={styles.notice} role="status">
      <div className={styles.words}>{children}</div>
    </div>
  );
}

/** What to know of something that was done all the same. */
export function Warnings({ warnings }: { warnings: readonly { message: string }[] }) {
  if (warnings.length === 0) return null;
  return (
    <Notice>
      <ul>
        {warnings.map(({ message }) => (
          <li key={message}>{message}</li>
        ))}
      </ul>
    </Notice>
  );
}

interface Problem {
  error: CombinedError;
  onRetry?: () => void;
  /** Says that what was typed is still there, when Gabbro cannot be reached. */
  keepsText?: boolean;
}

/** An error with the id under which the server's log has it, and a way to try again. */
export function ErrorNotice({ error, onRetry, keepsText = false }: Problem) {
  const requestId = (error.response as Response | undefined)?.headers.get("x-request-id");
  return (
    <div className={`${styles.notice} ${styles.bad}`} role="alert">
      <div className={styles.words}>
        {sentenceOf(error)}
        {error.networkError && keepsText && " Nothing of what you typed is lost."}
        {requestId && (
          <div className={styles.id}>
            Request <code>{requestId}</code>
          </div>
        )}
      </div>
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** What went wrong, as a sentence. */
export function sentenceOf({ graphQLErrors, networkError }: CombinedError): string {
  const [first] = graphQLErrors;
  if (first) return first.message;
  if (networkError) return "Gabbro cannot be reached.";
  return "Something went wrong.";
}

/** What a screen shows when there is nothing yet, and what to do about it. */
export function Empty({
  title,
  children,
  action,
}: {
  title: string;
  children?: ReactNode;
  action?: ReactNode;
}) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      {children && <p>{children}</p>}
      {action}
    </div>
  );
}

export function Waiting() {
  return (
    <div className={styles.waiting} role="status" aria-label="Loading">
      <span />
      <span />
      <span />
    </div>
  );
}
