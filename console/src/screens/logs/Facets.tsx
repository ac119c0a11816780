import { useState } from "react";
import { useData } from "../../data.ts";
import type { LogFacetsQuery, LogFilter } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { formatCount } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { periodOf } from "../../parts/period.ts";
import type { LogSearch } from "./filter.ts";
import styles from "./Logs.module.css";

/** Each with the filters of the others, and none with words, so that no count waits for typing. */
const LogFacets = graphql(`
  query LogFacets(
    $from: DateTime!
    $to: DateTime!
    $ofStatus: LogCondition!
    $ofPrompt: LogCondition!
    $ofVersion: LogCondition!
    $ofModel: LogCondition!
    $ofUser: LogCondition!
    $hasSlug: Boolean!
  ) {
    statuses: logCounts(from: $from, to: $to, filter: $ofStatus, groupBy: STATUS) {
      nodes {
        key
        logs
      }
    }
    prompts: logCounts(from: $from, to: $to, filter: $ofPrompt, groupBy: PROMPT, first: 8) {
      nodes {
        key
        logs
      }
    }
    versions: logCounts(from: $from, to: $to, filter: $ofVersion, groupBy: VERSION, first: 8) @include(if: $hasSlug) {
      nodes {
        key
        logs
      }
    }
    models: logCounts(from: $from, to: $to, filter: $ofModel, groupBy: MODEL, first: 8) {
      nodes {
        key
        logs
      }
    }
    users: logCounts(from: $from, to: $to, filter: $ofUser, groupBy: USER, first: 8) {
      nodes {
        key
        logs
      }
    }
  }
`);

interface Choice {
  label: string;
  count: number;
  /** What it sets in the address. */
  search: LogSearch;
}

interface Facet {
  title: string;
  name: keyof LogSearch;
  choices: Choice[];
}

interface Props {
  search: LogSearch;
  filter: LogFilter;
  onChange: (part: LogSearch) => void;
}

const wide = matchMedia("(min-width: 1000px)");

/** How many logs the list would show with each status, prompt, version, model and user; a click filters by it, another one no more. */
export function Facets({ search, filter, onChange }: Props) {
  const month = periodOf("30");
  const hasPeriod = filter.from != null;
  const { from = month.from, to = month.to, text, ...counted } = filter;
  const variables = {
    ...{ from: from!, to: to! },
    ofStatus: { ...counted, status: null },
    ofPrompt: { ...counted, slug: null, version: null },
    ofVersion: { ...counted, version: null },
    ofModel: { ...counted, model: null },
    ofUser: { ...counted, userId: null },
    hasSlug: search.slug !== undefined, // versions of several prompts have the same names
  };
  const result = useData(LogFacets, variables);
  const [isOpen, setIsOpen] = useState(wide.matches);
  return (
    <details
      className={styles.facets}
      open={isOpen}
      onToggle={(event) => setIsOpen(event.currentTarget.open)}
    >
      <summary>
        {hasPeriod ? "Logs in this period" : "Logs in the last 30 days"}
        {text && ", of any words"}
      </summary>
      <Loaded result={result}>
        {(data) =>
          facetsOf(data).map((facet) => (
            <FacetList key={facet.name} facet={facet} search={search} onChange={onChange} />
          ))
        }
      </Loaded>
    </details>
  );
}

function FacetList({ facet, search, onChange }: Omit<Props, "filter"> & { facet: Facet }) {
  const { title, name, choices } = facet;
  if (choices.length === 0) return null;
  return (
    <section aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {choices.map((choice) => {
          const isChosen = search[name] === choice.search[name];
          return (
            <li key={choice.label}>
              <button
                type="button"
                aria-pressed={isChosen}
                onClick={() => onChange(isChosen ? { [name]: undefined } : choice.search)}
              >
                <span>{choice.label}</span> <span>{formatCount(choice.count)}</span>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function facetsOf({ statuses, prompts, versions, models, users }: LogFacetsQuery): Facet[] {
  type Groups = { nodes: readonly { key?: string | null; logs: number }[] };
  const choicesOf = ({ nodes }: Groups, toSearch: (key: string) => LogSearch) =>
    nodes.flatMap(({ key, logs }): Choice[] =>
      key == null ? [] : [{ label: key, count: logs, search: toSearch(key) }],
    );
  const failed = choicesOf(statuses, (key) => ({ status: key })).filter(({ label }) => label === "error");
  return [
    { title: "Status", name: "status", choices: failed.map((one) => ({ ...one, label: "Error" })) },
    {
      title: "Prompt",
      name: "slug",
      choices: choicesOf(prompts, (key) => ({ slug: key, version: undefined })),
    },
    {
      title: "Version",
      name: "version",
      choices: versions ? choicesOf(versions, (key) => ({ version: key })) : [],
    },
    { title: "Model", name: "model", choices: choicesOf(models, (key) => ({ model: key })) },
    { title: "User", name: "user", choices: choicesOf(users, (key) => ({ user: key })) },
  ];
}
