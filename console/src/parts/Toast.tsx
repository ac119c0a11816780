import { createContext, type ReactNode, useCallback, useContext, useState } from "react";
import { Icon } from "./Icon.tsx";
import styles from "./Toast.module.css";

const SHOWN_MS = 4_000;

type Kind = "done" | "failed";

const Show = createContext<(message: string, kind?: Kind) => void>(() => {});

/** Says for a moment what was done, or could not be. */
export const useToast = () => useContext(Show);

export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<{ id: string; message: string; kind: Kind }[]>([]);
  const show = useCallback((message: string, kind: Kind = "done") => {
    const toast = { id: crypto.randomUUID(), message, kind };
    // A key that is held would otherwise show the same message dozens of times.
    setToasts((shown) => [...shown.filter((one) => one.message !== message), toast]);
    setTimeout(() => setToasts((shown) => shown.filter((one) => one !== toast)), SHOWN_MS);
  }, []);
  return (
    <Show value={show}>
      {children}
      <div className={styles.toasts} role="status">
        {toasts.map(({ id, message, kind }) => (
          <div key={id} className={styles.toast}>
            <Icon name={kind === "done" ? "check" : "alert"} />
            {message}
          </div>
        ))}
      </div>
    </Show>
  );
}
