import { type ReactNode, useEffect, useRef } from "react";
import { IconButton } from "./Button.tsx";
import styles from "./Dialog.module.css";

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
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    // React focuses before the dialog is open, and the dialog then focuses the button that closes it.
    dialog.current?.querySelector<HTMLElement>("form :is(input, select, textarea)")?.focus();
  }, []);
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
