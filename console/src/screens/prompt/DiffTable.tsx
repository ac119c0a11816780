import type { DiffLine, DiffPart } from "./diffLines.ts";
import styles from "./Prompt.module.css";

/** Two texts side by side. */
export function DiffTable({ label, lines }: { label: string; lines: DiffLine[] }) {
  return (
    <div className={styles.diffFrame}>
      <table className={styles.diff} aria-label={label}>
        <tbody>
          {lines.map((line, n) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the place of a line is its identity
            <Line key={n} line={line} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Line({ line }: { line: DiffLine }) {
  if (line.kind === "same")
    return (
      <tr>
        <td>{line.text || " "}</td>
        <td>{line.text || " "}</td>
      </tr>
    );
  return (
    <tr>
      <td className={line.before ? styles.removed : styles.absent}>
        <Parts parts={line.before} as="del" />
      </td>
      <td className={line.after ? styles.added : styles.absent}>
        <Parts parts={line.after} as="ins" />
      </td>
    </tr>
  );
}

function Parts({ parts, as: Element }: { parts: DiffPart[] | null; as: "del" | "ins" }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: the place of a part is its identity
  return parts?.map(({ text, isChanged }, n) => (isChanged ? <Element key={n}>{text}</Element> : text));
}
