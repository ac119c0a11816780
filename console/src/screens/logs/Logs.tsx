import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { useData, useEvents } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { Chips } from "../../parts/Chips.tsx";
import { FilterBar, SearchField, Select } from "../../parts/Field.tsx";
import { formatDay } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty, ErrorNotice } from "../../parts/Notice.tsx";
import { Page } from "../../parts/Page.tsx";
import { PageLinks } from "../../parts/Pager.tsx";
import { Facets } from "./Facets.tsx";
import { filterOf, type LogSearch, periodChoices } from "./filter.ts";
import { LiveDot } from "./LiveDot.tsx";
import styles from "./Logs.module.css";
import { type LogOfList, LogTable } from "./LogTable.tsx";

const route = getRouteApi("/shell/logs");

const LogList = graphql(`
  query LogList($filter: LogFilter!, $after: String) {
    logs(filter: $filter, after: $after, first: 50) {
      nodes {
        ...LogOfList
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

const PromptChoices = graphql(`
  query PromptChoices {
    prompts(first: 100) {
      nodes {
        id
        slug
      }
    }
  }
`);

const NewLogs = graphql(`
  subscription NewLogs($slug: String) {
    logAdded(slug: $slug) {
      id
      ...LogOfList
    }
  }
`);

const MAX_NEW_LOGS = 200;

export function Logs() {
  const { after, live, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const key = JSON.stringify(search);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for what is searched; time alone changes nothing
  const filter = useMemo(() => filterOf(search, Date.now()), [key]);
  const result = useData(LogList, { filter, after: after ?? null });
  const isFiltered = Object.keys(search).length > 0;
  const change = useCallback(
    (part: LogSearch) =>
      void navigate({ search: (now) => ({ ...now, ...part, after: undefined }), replace: true }),
    [navigate],
  );
  const onSearch = useCallback((text: string) => change({ q: text || undefined }), [change]);
  const clear = () => void navigate({ search: {}, replace: true });
  return (
    <Page
      title="Logs"
      about="Every call that your applications reported, the latest first."
      actions={
        <Button
          aria-pressed={live === "1"}
          onClick={() =>
            void navigate({ search: (now) => ({ ...now, live: live ? undefined : "1" }), replace: true })
          }
        >
          <LiveDot isLive={live === "1"} /> Live
        </Button>
      }
    >
      <Filters search={search} onSearch={onSearch} onChange={change}>
        <Chips search={search} names={namesOf(search)} onRemove={(name) => change({ [name]: undefined })} />
        {isFiltered && (
          <Button kind="quiet" onClick={clear}>
            Clear
          </Button>
        )}
      </Filters>
      {live === "1" && <Tail key={key} slug={search.slug} isFiltered={isFiltered} onGap={result.retry} />}
      <div className={styles.found}>
        <Facets search={search} filter={filter} onChange={change} />
        <div className={styles.list}>
          <Loaded result={result}>
            {({ logs: { nodes, pageInfo } }) =>
              nodes.length > 0 ? (
                <>
                  <LogTable label="Logs" logs={nodes} />
                  <PageLinks after={after} pageInfo={pageInfo} words={{ first: "Latest", next: "Older" }} />
                </>
              ) : isFiltered ? (
                <Empty title="No log fits" action={<Button onClick={clear}>Show all</Button>}>
                  All words must stand in the input or the output; “words in quotes” must follow each other.
                </Empty>
              ) : (
                <Empty title="No logs yet">
                  Applications report calls with <code>logPrompt</code> or <code>POST /monitor/log</code>.
                </Empty>
              )
            }
          </Loaded>
        </div>
      </div>
    </Page>
  );
}

const latencyChoices = [
  { value: "", label: "Any latency" },
  { value: "1000", label: "1 s or more" },
  { value: "5000", label: "5 s or more" },
  { value: "30000", label: "30 s or more" },
];

/** The filters without a control: a latency that is none of the choices is one of them. */
function namesOf({ minLatency }: LogSearch): Partial<Record<keyof LogSearch, string>> {
  const isChoice = latencyChoices.some(({ value }) => value === minLatency);
  return {
    ...{ version: "Version", user: "User", model: "Model", status: "Status", minCost: "Cost from $" },
    ...(!isChoice && { minLatency: "Latency in ms from" }),
  };
}

function Filters({
  search,
  onSearch,
  onChange,
  children,
}: {
  search: LogSearch;
  onSearch: (text: string) => void;
  onChange: (part: LogSearch) => void;
  children: React.ReactNode;
}) {
  const prompts = useData(PromptChoices, {});
  const slugs = (prompts.data?.prompts.nodes ?? []).map(({ slug }) => slug);
  const listed = search.slug && !slugs.includes(search.slug) ? [search.slug, ...slugs] : slugs;
  const choices = [
    { value: "", label: "All prompts" },
    ...listed.map((slug) => ({ value: slug, label: slug })),
  ];
  return (
    <FilterBar>
      <SearchField label="Search words" value={search.q ?? ""} onSearch={onSearch} />
      <Select
        label="Prompt"
        choices={choices}
        value={search.slug ?? ""}
        onChange={(event) => onChange({ slug: event.target.value || undefined, version: undefined })}
      />
      <Select
        label="Period"
        choices={
          search.day
            ? [...periodChoices, { value: "days", label: daysOf(search.day, search.to) }]
            : periodChoices
        }
        value={search.day ? "days" : (search.since ?? "")}
        onChange={(event) =>
          onChange({ since: event.target.value || undefined, day: undefined, to: undefined })
        }
      />
      <Select
        label="Latency"
        choices={latencyChoices}
        value={search.minLatency ?? ""}
        onChange={(event) => onChange({ minLatency: event.target.value || undefined })}
      />
      {children}
    </FilterBar>
  );
}

const daysOf = (first: string, last = first): string =>
  first === last ? formatDay(first) : `${formatDay(first)} – ${formatDay(last)}`;

interface TailProps {
  slug: string | undefined;
  isFiltered: boolean;
  /** Logs may have arrived that it does not show. */
  onGap: () => void;
}

/** The logs that arrive while it is shown. */
function Tail({ slug, isFiltered, onGap }: TailProps) {
  const [logs, setLogs] = useState<(LogOfList & { id: string })[]>([]);
  const onEvent = useCallback(({ logAdded }: { logAdded: LogOfList & { id: string } }) => {
    setLogs((now) => [logAdded, ...now].slice(0, MAX_NEW_LOGS));
  }, []);
  const { error } = useEvents(NewLogs, { slug: slug ?? null }, { isPaused: false, onEvent, onGap });
  const which = slug ? `of ${slug} ` : "";
  const unless = isFiltered && !slug ? ", whatever the filters say" : "";
  return (
    <>
      {error && <ErrorNotice error={error} />}
      {logs.length > 0 ? (
        <LogTable label="New logs" logs={logs} />
      ) : (
        <p role="status">
          New logs {which}appear here as they arrive{unless}.
        </p>
      )}
    </>
  );
}
