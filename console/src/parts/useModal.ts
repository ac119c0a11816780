import { useEffect, useRef } from "react";

/** Opens a dialog while it is rendered; what had the focus before gets it back. */
export function useModal() {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return dialog;
}
