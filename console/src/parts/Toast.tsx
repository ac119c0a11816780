import { createContext, type ReactNode, useCallback, useContext, useState } from "react";
import { Icon } from "./Icon.tsx";
import styles from "./Toast.module.css";

const SHOWN_MS = 4_000;

const Show = createContext<(message: string) => void>(() => {});

/** Says for a moment what was done. */
export const useToast = () => useContext(Show);

export function Toasts({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<{ id: string; message: string }[]>([]);
  const show = useCallback((message: string) => {
    const toast = { id: crypto.randomUUID(), message };
    setToasts((shown) => [...shown, toast]);
    setTimeout(() => setToasts((shown) => shown.filter((one) => one !== toast)), SHOWN_MS);
  }, []);
  return (
    <Show value={show}>
      {children}
      <div className={styles.toasts} role="status">
        {toasts.map(({ id, message }) => (
          <div key={id} className={styles.toast}>
            <Icon name="check" />
            {message}
          </div>
        ))}
      </div>
    </Show>
  );
}
