import { type ReactNode, useEffect } from "react";
import { IconButton } from "./Button.tsx";
import styles from "./Dialog.module.css";
import { useModal } from "./useModal.ts";

/** A dialog over the screen. It is open while it is rendered; Escape closes it. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
}) {
  const dialog = useModal();
  useEffect(() => {
    // By itself, the dialog focuses the button that closes it.
    dialog.current?.querySelector<HTMLElement>("form :is(input, select, textarea)")?.focus();
  }, [dialog]);
  return (
    <dialog ref={dialog} className={styles.dialog} aria-label={title} onClose={onClose}>
      <div className={styles.head}>
        <h2>{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </div>
      <div className={styles.body}>{children}</div>
    </dialog>
  );
}
