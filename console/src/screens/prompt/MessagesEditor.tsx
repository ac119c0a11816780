import { Button, IconButton } from "../../parts/Button.tsx";
import { TextField } from "../../parts/Field.tsx";
import type { DraftMessage } from "./draft.ts";
import styles from "./Prompt.module.css";
import { TemplateArea } from "./TemplateArea.tsx";

/** The messages of a chat, one below the other. */
export function MessagesEditor({
  messages,
  onChange,
}: {
  messages: DraftMessage[];
  onChange: (messages: DraftMessage[]) => void;
}) {
  const change = (key: number, part: Partial<DraftMessage>) =>
    onChange(messages.map((one) => (one.key === key ? { ...one, ...part } : one)));
  const add = () => {
    const key = Math.max(0, ...messages.map((one) => one.key)) + 1;
    onChange([...messages, { key, role: "user", content: "" }]);
  };
  return (
    <>
      {messages.map(({ key, role, content, placeholder }, n) => (
        <div key={key} className={styles.message}>
          {placeholder == null ? (
            <>
              <TextField
                label={`Role of message ${n + 1}`}
                required
                value={role}
                onChange={(event) => change(key, { role: event.target.value })}
              />
              <TemplateArea
                label="Content"
                value={content}
                onChange={(text) => change(key, { content: text })}
              />
            </>
          ) : (
            <>
              <span />
              <TextField
                label="Placeholder for messages"
                required
                value={placeholder}
                onChange={(event) => change(key, { placeholder: event.target.value })}
              />
            </>
          )}
          <IconButton
            icon="close"
            label={`Remove message ${n + 1}`}
            disabled={messages.length === 1}
            onClick={() => onChange(messages.filter((one) => one.key !== key))}
          />
        </div>
      ))}
      <div>
        <Button icon="plus" onClick={add}>
          Message
        </Button>
      </div>
    </>
  );
}
