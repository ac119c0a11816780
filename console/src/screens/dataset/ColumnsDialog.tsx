import { useEffect, useRef, useState } from "react";
import type { ColumnType } from "../../gql/graphql.ts";
import { Button, IconButton } from "../../parts/Button.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { Select, TextField } from "../../parts/Field.tsx";
import { Notice } from "../../parts/Notice.tsx";
import { SaveForm } from "../../parts/SaveForm.tsx";
import {
  type Column,
  type ColumnChange,
  type ColumnDraft,
  changeOf,
  draftsOf,
  isNothing,
} from "./columnChanges.ts";
import styles from "./Dataset.module.css";
import type { useColumnChange } from "./useColumnChange.ts";

const types = (["TEXT", "JSON", "IMAGE", "FILE"] as const).map((value) => ({
  value,
  label: value === "JSON" ? value : `${value[0]}${value.slice(1).toLowerCase()}`,
}));

interface Props {
  columns: readonly Column[];
  columnChange: ReturnType<typeof useColumnChange>;
  /** False while a text of a cell is not stored, which could lose its column. */
  isReady: boolean;
  onClose: () => void;
}

/** Adds, renames and removes columns, all in one change. */
export function ColumnsDialog({ columns, columnChange, isReady, onClose }: Props) {
  const [drafts, setDrafts] = useState(() => draftsOf(columns));
  const change = (key: number, part: Partial<ColumnDraft>) =>
    setDrafts((now) => now.map((one) => (one.key === key ? { ...one, ...part } : one)));
  const add = () =>
    setDrafts((now) => {
      const key = Math.max(-1, ...now.map((one) => one.key)) + 1;
      return [...now, { key, before: null, name: "", type: "TEXT", isRemoved: false }];
    });
  const remove = ({ key, before }: ColumnDraft) =>
    before === null
      ? setDrafts((now) => now.filter((one) => one.key !== key))
      : change(key, { isRemoved: true });
  const all = changeOf(drafts);
  const submit = async () => {
    if (isNothing(all) || (await columnChange.change(all))) onClose();
  };
  return (
    <Dialog title="Columns" onClose={onClose}>
      <SaveForm
        verb={verbOf(all)}
        save={columnChange.save}
        isReady={isReady}
        onSubmit={submit}
        onCancel={onClose}
      >
        <ul className={styles.columns}>
          {drafts.map((draft, n) => (
            <ColumnFields
              key={draft.key}
              number={n + 1}
              draft={draft}
              onChange={(part) => change(draft.key, part)}
              onRemove={() => remove(draft)}
            />
          ))}
        </ul>
        <div>
          <Button icon="plus" onClick={add}>
            Column
          </Button>
        </div>
        {!isReady && <Notice>A text of a cell is not stored yet: save it, or take it back, first.</Notice>}
        <p className={styles.slug}>
          Rows keep the values of a column that is removed: they come back with a column of its name. Ctrl Z
          takes the change back.
        </p>
      </SaveForm>
    </Dialog>
  );
}

function verbOf({ removed }: ColumnChange): string {
  if (removed.length === 0) return "Save";
  return removed.length === 1 ? "Save, and remove 1 column" : `Save, and remove ${removed.length} columns`;
}

interface FieldsProps {
  number: number;
  draft: ColumnDraft;
  onChange: (part: Partial<ColumnDraft>) => void;
  onRemove: () => void;
}

function ColumnFields({ number, draft, onChange, onRemove }: FieldsProps) {
  const { name, type, before, isRemoved } = draft;
  const item = useRef<HTMLLIElement>(null);
  const isNew = before === null;
  const shown = useRef({ isRemoved, isNew: false });
  useEffect(() => {
    // What had the focus is gone, or a new column waits for its name.
    if (shown.current.isRemoved !== isRemoved || shown.current.isNew !== isNew)
      item.current?.querySelector<HTMLElement>("input, button")?.focus();
    shown.current = { isRemoved, isNew };
  }, [isRemoved, isNew]);
  if (isRemoved)
    return (
      <li ref={item}>
        <s>{before}</s>
        <Button onClick={() => onChange({ isRemoved: false, name: before ?? "" })}>Keep it</Button>
      </li>
    );
  return (
    <li ref={item}>
      <TextField
        label={`Column ${number}`}
        required
        value={name}
        onChange={(event) => onChange({ name: event.target.value })}
      />
      {isNew ? (
        <Select
          label={`Type of column ${number}`}
          choices={types}
          value={type}
          onChange={({ target }) => onChange({ type: target.value as ColumnType })}
        />
      ) : (
        <span className={styles.slug}>{types.find(({ value }) => value === type)?.label}</span>
      )}
      <IconButton icon="close" label={`Remove column ${number}`} onClick={onRemove} />
    </li>
  );
}
