import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { useData } from "../../data.ts";
import type { PromptsQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Badge, TagBadge } from "../../parts/Badge.tsx";
import { Button } from "../../parts/Button.tsx";
import { FilterBar, SearchField } from "../../parts/Field.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { Page } from "../../parts/Page.tsx";
import { PageLinks } from "../../parts/Pager.tsx";
import { type Column, RowName, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import { NewPrompt } from "./NewPrompt.tsx";
import styles from "./Prompts.module.css";

const route = getRouteApi("/shell/prompts");

const PromptList = graphql(`
  query Prompts($search: String, $after: String) {
    prompts(search: $search, after: $after, first: 50) {
      nodes {
        id
        slug
        name
        description
        status
        tags {
          id
          label
          version
        }
        latest {
          id
          version
          createdAt
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

type Prompt = PromptsQuery["prompts"]["nodes"][number];

const columns: Column<Prompt>[] = [
  {
    name: "Prompt",
    isWide: true,
    cell: ({ slug, name, description }) => (
      <RowName
        name={
          <Link to="/prompts/$slug" params={{ slug }}>
            {name}
          </Link>
        }
        slug={slug}
        about={description}
      />
    ),
  },
  {
    name: "Status",
    cell: ({ status }) => (status === "LIVE" ? <Badge tone="good">Live</Badge> : <Badge>Draft</Badge>),
  },
  {
    name: "Tags",
    isOptional: true,
    cell: ({ tags }) => (
      <div className={styles.tags}>
        {tags.map(({ id, label, version }) => (
          <span key={id} className={styles.tag}>
            <TagBadge label={label} /> {version}
          </span>
        ))}
      </div>
    ),
  },
  { name: "Latest", isOptional: true, align: "end", cell: ({ latest }) => latest?.version ?? "–" },
  {
    name: "Changed",
    align: "end",
    isOptional: true,
    cell: ({ latest }) => (latest ? <Time at={latest.createdAt} /> : "–"),
  },
];

export function Prompts() {
  const { q = "", after, dialog } = route.useSearch();
  const navigate = route.useNavigate();
  const result = useData(PromptList, { search: q || null, after: after ?? null });
  const search = useCallback(
    (text: string) => void navigate({ search: { q: text || undefined }, replace: true }),
    [navigate],
  );
  const setDialog = (next: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, dialog: next }), replace: true });
  const newButton = (
    <Button kind="primary" icon="plus" onClick={() => setDialog("new")}>
      New prompt
    </Button>
  );
  return (
    <Page title="Prompts" about="What your applications ask models, in versions." actions={newButton}>
      <FilterBar>
        <SearchField label="Search prompts" value={q} onSearch={search} />
      </FilterBar>
      <Loaded result={result}>
        {({ prompts: { nodes, pageInfo } }) =>
          nodes.length > 0 ? (
            <>
              <Table label="Prompts" columns={columns} rows={nodes} keyOf={({ id }) => id} rowsAre="links" />
              <PageLinks after={after} pageInfo={pageInfo} />
            </>
          ) : q ? (
            <Empty
              title={`No prompt has “${q}” in its name`}
              action={<Button onClick={() => search("")}>Show all</Button>}
            >
              The slug, the name and the description are searched.
            </Empty>
          ) : (
            <Empty title="No prompts yet" action={newButton}>
              Make the first one here, or import files with <code>npx gabbro import prompts</code>.
            </Empty>
          )
        }
      </Loaded>
      {dialog === "new" && <NewPrompt onClose={() => setDialog(undefined)} />}
    </Page>
  );
}
