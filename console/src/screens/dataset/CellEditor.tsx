import { useLayoutEffect, useRef, useState } from "react";
import styles from "./Dataset.module.css";
import type { Move } from "./useCells.ts";

interface Props {
  text: string;
  /** What stands there instead of the text, when a key began to replace it. */
  typed: string | undefined;
  /** Whether it takes the focus; else it holds a text that could not be saved, until somebody comes back to it. */
  hasFocus: boolean;
  onFocus: () => void;
  /** Saves the text, and says by how many rows and columns the selection goes on; nothing when the field is just left. */
  onSave: (text: string, move?: Move) => void;
  onCancel: () => void;
}

/** The field over a cell while it is edited. Shift Enter makes a new line. */
export function CellEditor({ text, typed, hasFocus, onFocus, onSave, onCancel }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [value, setValue] = useState(typed ?? text);
  const isDone = useRef(false);
  useLayoutEffect(() => {
    if (!hasFocus) return;
    field.current?.focus();
    const end = field.current?.value.length ?? 0; // as in spreadsheets: what stands there goes on
    field.current?.setSelectionRange(end, end);
  }, [hasFocus]);
  const finish = (end: () => void) => {
    if (isDone.current) return; // leaving the field after a key would end it twice
    isDone.current = true;
    end();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return; // the key chooses among signs of Japanese, Chinese or Korean
    if (event.key === "Escape") finish(onCancel);
    else if (event.key === "Enter" && !event.shiftKey) finish(() => onSave(value, [1, 0]));
    else if (event.key === "Tab") finish(() => onSave(value, [0, event.shiftKey ? -1 : 1]));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <textarea
      ref={field}
      className={styles.editor}
      aria-label="Value"
      aria-invalid={!hasFocus}
      value={value}
      onChange={(event) => setValue(event.target.value)}
      onKeyDown={onKeyDown}
      onFocus={onFocus}
      onBlur={() => finish(() => onSave(value))}
    />
  );
}
