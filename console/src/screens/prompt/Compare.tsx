import { useMemo } from "react";
import { useData } from "../../data.ts";
import { FilterBar, Select } from "../../parts/Field.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { compareLines, type DiffLine, type DiffPart, textOf } from "./diffLines.ts";
import styles from "./Prompt.module.css";
import { VersionTexts } from "./queries.ts";
import { promptRoute } from "./route.ts";
import type { Version } from "./Texts.tsx";

interface Props {
  slug: string;
  /** The newest first. */
  versions: string[];
  from: string | undefined;
  to: string;
}

/** Two versions side by side. */
export function Compare({ slug, versions, from, to }: Props) {
  const navigate = promptRoute.useNavigate();
  const earlier = from ?? versions[versions.indexOf(to) + 1] ?? versions.find((one) => one !== to);
  const before = useData(VersionTexts, { slug, version: earlier ?? to });
  const after = useData(VersionTexts, { slug, version: to });
  if (!earlier)
    return <Empty title="There is only one version">With a second one, this shows what differs.</Empty>;
  const choices = versions.map((version) => ({ value: version, label: version }));
  const choose = (change: { from?: string; version?: string }) =>
    void navigate({ search: (now) => ({ ...now, ...change }), replace: true });
  return (
    <>
      <FilterBar>
        <Select
          label="Compare from"
          choices={choices}
          value={earlier}
          onChange={(event) => choose({ from: event.target.value })}
        />
        <span>with</span>
        <Select
          label="Compare with"
          choices={choices}
          value={to}
          onChange={(event) => choose({ version: event.target.value })}
        />
      </FilterBar>
      <Loaded result={before}>
        {(old) => (
          <Loaded result={after}>
            {(fresh) => {
              const [a, b] = [old.describePrompt?.promptVersion, fresh.describePrompt?.promptVersion];
              return a && b && <SideBySide before={a} after={b} />;
            }}
          </Loaded>
        )}
      </Loaded>
    </>
  );
}

function SideBySide({ before, after }: { before: Version; after: Version }) {
  const lines = useMemo(() => compareLines(textOf(before), textOf(after)), [before, after]);
  if (lines.every(({ kind }) => kind === "same")) return <Empty title="Nothing differs" />;
  return (
    <div className={styles.diffFrame}>
      <table className={styles.diff} aria-label={`Version ${before.version} beside ${after.version}`}>
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
