import { useState } from "react";
import { Button } from "./Button.tsx";
import { PlainText } from "./CodeText.tsx";
import { CopyButton } from "./CopyButton.tsx";
import { formatCount, formatJson } from "./format.ts";
import { type Message, messagesOf } from "./messages.ts";
import styles from "./Value.module.css";

/** A longer text makes a browser slow, so it is shown in full only when asked. */
const MAX_SHOWN_CHARACTERS = 50_000;

/** An input, an output or any other JSON value: messages one below the other, everything else as text. */
export function Value({ title, value }: { title: string; value: unknown }) {
  const [isWhole, setIsWhole] = useState(false);
  const [isJson, setIsJson] = useState(false);
  const text = value == null ? "" : formatJson(value);
  const isLong = text.length > MAX_SHOWN_CHARACTERS;
  const isCut = isLong && !isWhole;
  const messages = isLong ? null : messagesOf(value);
  return (
    <section className={styles.value} aria-label={title}>
      <div className={styles.head}>
        <h2>{title}</h2>
        {messages && (
          <Button kind="quiet" aria-pressed={isJson} onClick={() => setIsJson(!isJson)}>
            JSON
          </Button>
        )}
        <CopyButton text={text} label={`Copy the ${title.toLowerCase()}`} />
      </div>
      {messages && !isJson ? (
        <Messages messages={messages} />
      ) : (
        <PlainText text={isCut ? text.slice(0, MAX_SHOWN_CHARACTERS) : text || wordsForNone(value)} />
      )}
      {isCut && (
        <Button onClick={() => setIsWhole(true)}>Show all {formatCount(text.length)} characters</Button>
      )}
    </section>
  );
}

const wordsForNone = (value: unknown): string => (value === "" ? "An empty text." : "None was reported.");

function Messages({ messages }: { messages: Message[] }) {
  return messages.map(({ role, name, text, rest }, n) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the place of a message is its identity
    <section key={n} className={styles.message}>
      <h3>{name ? `${role} · ${name}` : role}</h3>
      {text && <PlainText text={text} />}
      {rest && <PlainText text={formatJson(rest)} />}
    </section>
  ));
}
