import { useEffect, useRef, useState } from "react";
import styles from "./Dataset.module.css";

interface Props {
  text: string;
  onSave: (text: string, key: "Enter" | "Tab" | "blur") => void;
  onCancel: () => void;
}

/** The field over a cell while it is edited. Shift Enter makes a new line. */
export function CellEditor({ text, onSave, onCancel }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [value, setValue] = useState(text);
  const isDone = useRef(false);
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, []);
  const finish = (end: () => void) => {
    if (isDone.current) return; // leaving the field after a key would end it twice
    isDone.current = true;
    end();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === "Escape") finish(onCancel);
    else if (event.key === "Enter" && !event.shiftKey) finish(() => onSave(value, "Enter"));
    else if (event.key === "Tab") finish(() => onSave(value, "Tab"));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <textarea
      ref={field}
      className={styles.editor}
      aria-label="Value"
      value={value}
      onChange={(event) => setValue(event.target.value)}
      onKeyDown={onKeyDown}
      onBlur={() => finish(() => onSave(value, "blur"))}
    />
  );
}
