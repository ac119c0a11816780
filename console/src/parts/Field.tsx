import { type ComponentProps, type ReactNode, useEffect, useId, useRef, useState } from "react";
import styles from "./Field.module.css";
import { isDay } from "./format.ts";
import { Icon } from "./Icon.tsx";

interface Labelled {
  label: string;
  hint?: ReactNode;
}

export function TextField({ label, hint, ...more }: Labelled & ComponentProps<"input">) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      <input id={id} className={styles.input} aria-describedby={hint ? `${id}-hint` : undefined} {...more} />
      {hint && (
        <span className={styles.hint} id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

export function TextArea({ label, hint, ...more }: Labelled & ComponentProps<"textarea">) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label className={styles.label} htmlFor={id}>
        {label}
      </label>
      <textarea id={id} className={`${styles.input} ${styles.area}`} spellCheck={false} {...more} />
      {hint && <span className={styles.hint}>{hint}</span>}
    </div>
  );
}

interface Choice {
  value: string;
  label: string;
}

/** A choice from few; its label is for those who cannot see what is around it. */
export function Select({
  label,
  choices,
  ...more
}: { label: string; choices: Choice[] } & ComponentProps<"select">) {
  return (
    <select className={styles.input} aria-label={label} title={label} {...more}>
      {choices.map(({ value, label: text }) => (
        <option key={value} value={value}>
          {text}
        </option>
      ))}
    </select>
  );
}

const TYPING_MS = 200;

/** A field that searches while it is typed in; `/` leads to it from anywhere on the screen. */
export function SearchField({
  label,
  value,
  onSearch,
}: {
  label: string;
  value: string;
  onSearch: (value: string) => void;
}) {
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // The address has changed otherwise, such as by going back.
    if (value !== sent.current) {
      sent.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text;
      onSearch(text);
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text, onSearch]);
  return (
    <div className={styles.search}>
      <Icon name="search" />
      <input
        type="search"
        data-search
        className={styles.input}
        aria-label={label}
        placeholder={`${label} ( / )`}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
}

interface Day {
  label: string;
  value: string;
  min?: string;
  max?: string;
  onChange: (day: string | undefined) => void;
}

/** A day to filter by, such as 2026-01-31. */
export function DayField({ label, value, onChange, ...limits }: Day) {
  return (
    <input
      type="date"
      className={styles.input}
      aria-label={label}
      title={label}
      value={isDay(value) ? value : ""}
      onChange={(event) => onChange(event.target.value || undefined)}
      {...limits}
    />
  );
}

/** The line of filters above a list. */
export function FilterBar({ children }: { children: ReactNode }) {
  return <div className={styles.bar}>{children}</div>;
}

export function Form({ onSubmit, children }: { onSubmit: () => void; children: ReactNode }) {
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

export function FormButtons({ children }: { children: ReactNode }) {
  return <div className={styles.buttons}>{children}</div>;
}

export function CheckBox({ label, ...more }: { label: string } & ComponentProps<"input">) {
  return (
    <label className={styles.check}>
      <input type="checkbox" {...more} />
      {label}
    </label>
  );
}
