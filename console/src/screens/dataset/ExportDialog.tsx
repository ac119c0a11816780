import { useEffect, useRef, useState } from "react";
import { uncachedClient } from "../../data.ts";
import { Button } from "../../parts/Button.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { Form, FormButtons, Select } from "../../parts/Field.tsx";
import { formatCount, formatRows } from "../../parts/format.ts";
import { saveFile } from "../../parts/saveFile.ts";
import styles from "./Dataset.module.css";
import { type Exported, exportFile, type FileFormat, MAX_FILE_MB } from "./exportRows.ts";

const formats: { value: FileFormat; label: string }[] = [
  { value: "csv", label: "CSV" },
  { value: "jsonl", label: "JSON Lines" },
];

interface Props {
  dataset: Exported & { rowCount: number };
  onClose: () => void;
}

/** Saves the version that is shown as a file. */
export function ExportDialog({ dataset, onClose }: Props) {
  const [format, setFormat] = useState<FileFormat>("csv");
  const [read, setRead] = useState<number | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const running = useRef<AbortController>(null);
  useEffect(() => () => running.current?.abort(), []);
  const { slug, version, rowCount } = dataset;
  const save = async () => {
    running.current = new AbortController();
    const { signal } = running.current;
    setProblem(null);
    setRead(0);
    try {
      const file = await exportFile(uncachedClient, dataset, format, { signal, onRows: setRead });
      if (signal.aborted) return;
      saveFile(file, `${slug}-v${version}.${format}`);
      onClose();
    } catch (error) {
      setRead(null);
      setProblem(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Dialog title="Export" onClose={onClose}>
      <Form onSubmit={() => void save()}>
        <Select
          label="Format"
          choices={formats}
          value={format}
          disabled={read !== null}
          onChange={({ target }) => setFormat(target.value === "jsonl" ? "jsonl" : "csv")}
        />
        <p>
          Version {formatCount(version)} with {formatRows(rowCount)}, as{" "}
          <code>npx gabbro import dataset</code> reads it. The browser makes files of at most {MAX_FILE_MB}{" "}
          MB; <code>npx gabbro export dataset</code> has no limit.
        </p>
        {read !== null && (
          <div className={styles.progress} role="status">
            <progress aria-label="Export" value={read} max={Math.max(1, rowCount)} />
            <span>{formatRows(read)}</span>
          </div>
        )}
        {problem && <p role="alert">{problem}</p>}
        <FormButtons>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" disabled={read !== null}>
            Save the file
          </Button>
        </FormButtons>
      </Form>
    </Dialog>
  );
}
