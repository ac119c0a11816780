import { useState } from "react";
import { Button } from "./Button.tsx";
import { PlainText } from "./CodeText.tsx";
import { CopyButton } from "./CopyButton.tsx";
import { formatCount, formatJson } from "./format.ts";
import styles from "./Value.module.css";

/** A longer text makes a browser slow, so it is shown in full only when asked. */
const MAX_SHOWN_CHARACTERS = 50_000;

/** An input, an output or any other JSON value, as text. */
export function Value({ title, value }: { title: string; value: unknown }) {
  const [isWhole, setIsWhole] = useState(false);
  const text = value == null ? "" : formatJson(value);
  const isCut = text.length > MAX_SHOWN_CHARACTERS && !isWhole;
  return (
    <section className={styles.value} aria-label={title}>
      <div className={styles.head}>
        <h2>{title}</h2>
        <CopyButton text={text} label={`Copy the ${title.toLowerCase()}`} />
      </div>
      <PlainText text={(isCut ? text.slice(0, MAX_SHOWN_CHARACTERS) : text) || "None was reported."} />
      {isCut && (
        <Button onClick={() => setIsWhole(true)}>Show all {formatCount(text.length)} characters</Button>
      )}
    </section>
  );
}
