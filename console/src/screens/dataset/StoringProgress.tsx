import { Button } from "../../parts/Button.tsx";
import { formatRows } from "../../parts/format.ts";
import styles from "./Dataset.module.css";

/** How far many rows are stored. */
export interface Progress {
  /** What they are from, such as a file. */
  title: string;
  /** From 0 to 1. */
  share: number;
  stored: number;
}

export function StoringProgress({ progress, onCancel }: { progress: Progress; onCancel: () => void }) {
  const { title, share, stored } = progress;
  return (
    <div className={styles.progress} role="status">
      <progress aria-label={title} value={share} />
      <span>
        {title}: {formatRows(stored)}
      </span>
      <Button onClick={onCancel}>Cancel</Button>
    </div>
  );
}
