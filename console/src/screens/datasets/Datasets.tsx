import { getRouteApi, Link } from "@tanstack/react-router";
import { useCallback } from "react";
import { useData } from "../../data.ts";
import type { DatasetsQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { TagBadge } from "../../parts/Badge.tsx";
import { Button } from "../../parts/Button.tsx";
import { FilterBar, SearchField } from "../../parts/Field.tsx";
import { formatCount } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { Page } from "../../parts/Page.tsx";
import { PageLinks } from "../../parts/Pager.tsx";
import { type Column, RowName, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import { NewDataset } from "./NewDataset.tsx";

const route = getRouteApi("/shell/datasets");

const DatasetList = graphql(`
  query Datasets($search: String, $after: String) {
    datasets(search: $search, after: $after, first: 50) {
      nodes {
        id
        slug
        name
        createdAt
        rowCount
        version
        columns {
          name
        }
        tags {
          id
          label
          version
        }
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

const columns: Column<DatasetsQuery["datasets"]["nodes"][number]>[] = [
  {
    name: "Dataset",
    isWide: true,
    cell: ({ slug, name, columns: own }) => (
      <RowName
        name={
          <Link to="/datasets/$slug" params={{ slug }}>
            {name}
          </Link>
        }
        slug={slug}
        about={own.map((column) => column.name).join(", ")}
      />
    ),
  },
  {
    name: "Tags",
    isOptional: true,
    cell: ({ tags }) =>
      tags.map(({ id, label, version }) => (
        <div key={id}>
          <TagBadge label={label} /> {version}
        </div>
      )),
  },
  { name: "Version", align: "end", isOptional: true, cell: ({ version }) => formatCount(version) },
  { name: "Rows", align: "end", cell: ({ rowCount }) => formatCount(rowCount) },
  { name: "Made", align: "end", isOptional: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

export function Datasets() {
  const { q = "", after, dialog } = route.useSearch();
  const navigate = route.useNavigate();
  const result = useData(DatasetList, { search: q || null, after: after ?? null });
  const search = useCallback(
    (text: string) => void navigate({ search: { q: text || undefined }, replace: true }),
    [navigate],
  );
  const setDialog = (next: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, dialog: next }), replace: true });
  const newButton = (
    <Button kind="primary" icon="plus" onClick={() => setDialog("new")}>
      New dataset
    </Button>
  );
  return (
    <Page title="Datasets" about="Cases to evaluate prompts with." actions={newButton}>
      <FilterBar>
        <SearchField label="Search datasets" value={q} onSearch={search} />
      </FilterBar>
      <Loaded result={result}>
        {({ datasets: { nodes, pageInfo } }) =>
          nodes.length > 0 ? (
            <>
              <Table label="Datasets" columns={columns} rows={nodes} keyOf={({ id }) => id} rowsAre="links" />
              <PageLinks after={after} pageInfo={pageInfo} />
            </>
          ) : q ? (
            <Empty
              title={`No dataset has “${q}” in its name`}
              action={<Button onClick={() => search("")}>Show all</Button>}
            />
          ) : (
            <Empty title="No datasets yet" action={newButton}>
              Make the first one here, or import a file with <code>npx gabbro import dataset</code>.
            </Empty>
          )
        }
      </Loaded>
      {dialog === "new" && <NewDataset onClose={() => setDialog(undefined)} />}
    </Page>
  );
}
