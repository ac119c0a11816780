import type { ReactNode } from "react";
import styles from "./Pager.module.css";

/** What leads on in a long list, and how much of it is shown. */
export function Pager({ children }: { children: ReactNode }) {
  return (
    <nav className={styles.pager} aria-label="Pages">
      {children}
    </nav>
  );
}
