import { getRouteApi } from "@tanstack/react-router";
import { useMemo } from "react";
import { useData } from "../../data.ts";
import { FilterBar, Select } from "../../parts/Field.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { DiffTable } from "./DiffTable.tsx";
import { compareLines } from "./diffLines.ts";
import { Impact } from "./Impact.tsx";
import { type Version, VersionTexts } from "./queries.ts";
import { textOf } from "./versionText.ts";

const route = getRouteApi("/shell/prompts/$slug");

interface Props {
  slug: string;
  /** The newest first. */
  versions: string[];
  from: string | undefined;
  to: string;
  /** Their texts, or what they make of the latest calls. */
  what: "texts" | "impact";
}

/** Two versions side by side. */
export function Compare({ slug, versions, from, to, what }: Props) {
  const navigate = route.useNavigate();
  const earlier = from ?? versions[versions.indexOf(to) + 1] ?? versions.find((one) => one !== to);
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
      {what === "impact" ? (
        <Impact slug={slug} from={earlier} to={to} />
      ) : (
        <CompareTexts slug={slug} from={earlier} to={to} />
      )}
    </>
  );
}

function CompareTexts({ slug, from, to }: { slug: string; from: string; to: string }) {
  const before = useData(VersionTexts, { slug, version: from }, { isFixed: true });
  const after = useData(VersionTexts, { slug, version: to }, { isFixed: true });
  return (
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
  );
}

function SideBySide({ before, after }: { before: Version; after: Version }) {
  const lines = useMemo(() => compareLines(textOf(before), textOf(after)), [before, after]);
  if (lines.every(({ kind }) => kind === "same")) return <Empty title="Nothing differs" />;
  return <DiffTable label={`Version ${before.version} beside ${after.version}`} lines={lines} />;
}
