import { Dialog } from "../parts/Dialog.tsx";
import styles from "./KeysDialog.module.css";
import { places } from "./places.ts";

const keys: [keys: string, meaning: string][] = [
  ["Ctrl/Cmd K", "search, go, do"],
  ["/", "search in this list"],
  ["j, k", "next, previous row"],
  ["Enter", "open the row"],
  ["Esc", "close"],
  ["Left, Right", "in a trace: collapse, expand"],
  ["e", "in a trace: next error"],
  ["Ctrl/Cmd Z", "in a dataset: undo"],
  ["Ctrl/Cmd Shift Z", "in a dataset: redo"],
  ["Ctrl/Cmd V", "in a grid: paste a block"],
  ["Ctrl/Cmd C, X", "in a grid: copy, cut the cell"],
  ["?", "these keys"],
];

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const gone = places.map(({ key, name }) => [`g ${key}`, `go to ${name}`] as const);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className={styles.keys}>
        {[...keys, ...gone].map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
