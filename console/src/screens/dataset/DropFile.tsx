import { type DragEvent, type ReactNode, useRef, useState } from "react";
import { Button } from "../../parts/Button.tsx";
import styles from "./Dataset.module.css";

/** Takes a file that is dragged onto its content. */
export function DropFile({ onFile, children }: { onFile: (file: File) => void; children: ReactNode }) {
  const [isOver, setIsOver] = useState(false);
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    setIsOver(true);
  };
  const onDrop = (event: DragEvent) => {
    const [file] = event.dataTransfer.files;
    setIsOver(false);
    if (!file) return;
    event.preventDefault();
    onFile(file);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button “Import file…” does it by keyboard
    <div
      className={styles.drop}
      data-over={isOver || undefined}
      onDragOver={onDragOver}
      onDragLeave={() => setIsOver(false)}
      onDrop={onDrop}
    >
      {children}
    </div>
  );
}

export function ImportButton({ onFile }: { onFile: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button onClick={() => input.current?.click()}>Import file…</Button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="CSV or JSON Lines"
        accept=".csv,.tsv,.jsonl,.ndjson"
        onChange={({ target }) => {
          const file = target.files?.[0];
          target.value = ""; // the same file can be chosen again
          if (file) onFile(file);
        }}
      />
    </>
  );
}
