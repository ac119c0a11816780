import { useState } from "react";
import { useData } from "../../data.ts";
import type { LogFacetsQuery, LogFilter } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { formatCount } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { periodOf } from "../../parts/period.ts";
import type { LogSearch } from "./filter.ts";
import styles from "./Logs.module.css";

/** Of the period and the prompt alone, so that no count waits for words that are typed. */
const LogFacets = graphql(`
  query LogFacets($from: DateTime!, $to: DateTime!, $slug: String, $hasSlug: Boolean!) {
    all: usage(from: $from, to: $to, slug: $slug) {
      nodes {
        failedLogs
      }
    }
    prompts: usage(from: $from, to: $to, groupBy: PROMPT, first: 8) {
      nodes {
        key
        logs
      }
    }
    versions: usage(from: $from, to: $to, slug: $slug, groupBy: VERSION, first: 8) @include(if: $hasSlug) {
      nodes {
        key
        logs
      }
    }
    models: usage(from: $from, to: $to, slug: $slug, groupBy: MODEL, first: 8) {
      nodes {
        key
        logs
      }
    }
    users: usage(from: $from, to: $to, slug: $slug, groupBy: USER, first: 8) {
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

/** How many calls each prompt, version, model and user has; a click filters by it, and another one no more. */
export function Facets({ search, filter, onChange }: Props) {
  const month = periodOf("30");
  const hasPeriod = filter.from != null;
  const variables = {
    from: filter.from ?? month.from,
    to: filter.to ?? month.to,
    slug: search.slug ?? null,
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
      <summary>{hasPeriod ? "Calls in this period" : "Calls in the last 30 days"}</summary>
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

function facetsOf({ all, prompts, versions, models, users }: LogFacetsQuery): Facet[] {
  type Group = { key?: string | null; logs: number };
  const choicesOf = <One extends Group>(
    nodes: readonly One[],
    toSearch: (key: string, one: One) => LogSearch,
  ) =>
    nodes.flatMap((one): Choice[] =>
      one.key == null ? [] : [{ label: one.key, count: one.logs, search: toSearch(one.key, one) }],
    );
  const failed = all.nodes[0]?.failedLogs ?? 0;
  return [
    {
      title: "Status",
      name: "status",
      choices: failed > 0 ? [{ label: "Error", count: failed, search: { status: "error" } }] : [],
    },
    {
      title: "Prompt",
      name: "slug",
      choices: choicesOf(prompts.nodes, (key) => ({ slug: key, version: undefined })),
    },
    {
      title: "Version",
      name: "version",
      choices: choicesOf(versions?.nodes ?? [], (key) => ({ version: key })),
    },
    { title: "Model", name: "model", choices: choicesOf(models.nodes, (key) => ({ model: key })) },
    { title: "User", name: "user", choices: choicesOf(users.nodes, (key) => ({ user: key })) },
  ];
}
