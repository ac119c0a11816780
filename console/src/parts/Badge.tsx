import type { ReactNode } from "react";
import styles from "./Badge.module.css";

export type Tone = "neutral" | "good" | "warn" | "bad" | "accent";

export function Badge({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) {
  return (
    <span className={tone === "neutral" ? styles.badge : `${styles.badge} ${styles[tone]}`}>{children}</span>
  );
}

/** A tag of a prompt or a dataset: production stands out, as applications read it. */
export function TagBadge({ label }: { label: string }) {
  return <Badge tone={label === "production" ? "good" : "accent"}>{label}</Badge>;
}
