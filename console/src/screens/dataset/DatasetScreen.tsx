import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { useData, useSave } from "../../data.ts";
import type { DatasetHeadQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Badge, TagBadge } from "../../parts/Badge.tsx";
import { Button, buttonClass } from "../../parts/Button.tsx";
import { Confirm } from "../../parts/Confirm.tsx";
import { formatCount } from "../../parts/format.ts";
import { Icon } from "../../parts/Icon.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty, ErrorNotice } from "../../parts/Notice.tsx";
import { Page } from "../../parts/Page.tsx";
import { AddRow } from "./AddRow.tsx";
import { type GridColumn, gridColumnsOf, type Row, valueIn, withValue } from "./cells.ts";
import styles from "./Dataset.module.css";
import { Grid } from "./Grid.tsx";
import { datasetRoute } from "./route.ts";
import { useRows } from "./useRows.ts";

const DatasetHead = graphql(`
  query DatasetHead($slug: String!, $version: Int) {
    dataset(slug: $slug, version: $version) {
      id
      slug
      name
      version
      rowCount
      warning
      columns {
        name
        type
      }
      tags {
        id
        label
        version
      }
    }
  }
`);

const UpdateRow = graphql(`
  mutation UpdateRow($id: ID!, $input: UpdateDatasetItemInput!) {
    updateDatasetItem(id: $id, input: $input) {
      datasetRow {
        id
        key
        name
        values
        idealOutput
      }
    }
  }
`);

const DeleteRow = graphql(`
  mutation DeleteRow($id: ID!) {
    deleteDatasetItem(id: $id) {
      deletedDatasetItemId
    }
  }
`);

type Dataset = NonNullable<DatasetHeadQuery["dataset"]>;

export function DatasetScreen() {
  const { slug } = datasetRoute.useParams();
  const { version } = datasetRoute.useSearch();
  const result = useData(DatasetHead, { slug, version: version ? Number(version) : null }, { isLive: true });
  return (
    <Loaded result={result}>
      {({ dataset }) =>
        dataset && <DatasetPage key={`${slug} ${version}`} dataset={dataset} onChange={result.retry} />
      }
    </Loaded>
  );
}

function DatasetPage({ dataset, onChange }: { dataset: Dataset; onChange: () => void }) {
  const { slug, name, columns, tags, rowCount, warning } = dataset;
  const { version, dialog } = datasetRoute.useSearch();
  const navigate = datasetRoute.useNavigate();
  const rows = useRows(slug, version ? Number(version) : null);
  const setDialog = (next: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, dialog: next }), replace: true });
  const isOld = version !== undefined;
  return (
    <Page
      title={name}
      heading={
        <>
          {name} <code className={styles.slug}>{slug}</code>{" "}
          <Badge tone={isOld ? "warn" : "neutral"}>Version {formatCount(dataset.version)}</Badge>{" "}
          {tags.map(({ id, label, version: tagged }) => (
            <Link key={id} to="/datasets/$slug" params={{ slug }} search={{ version: String(tagged) }}>
              <TagBadge label={label} />
            </Link>
          ))}
        </>
      }
      about={`${formatCount(rowCount)} rows${isOld ? ", as they were: an old version cannot be changed" : ""}`}
      back={
        <Link to="/datasets">
          <Icon name="back" size={13} /> Datasets
        </Link>
      }
      actions={
        isOld ? (
          <Link to="/datasets/$slug" params={{ slug }} className={buttonClass()}>
            Show it as it is
          </Link>
        ) : (
          <Button kind="primary" icon="plus" onClick={() => setDialog("add")}>
            Add row
          </Button>
        )
      }
    >
      {warning && <p>{warning}</p>}
      <Sheet
        rows={rows}
        columns={gridColumnsOf(columns)}
        isOld={isOld}
        onAdd={() => setDialog("add")}
        onChange={onChange}
      />
      {dialog === "add" && (
        <AddRow
          slug={slug}
          columns={columns}
          onClose={() => setDialog(undefined)}
          onAdded={(row) => {
            rows.append(row);
            onChange();
          }}
        />
      )}
    </Page>
  );
}

interface SheetProps {
  rows: ReturnType<typeof useRows>;
  columns: GridColumn[];
  isOld: boolean;
  onAdd: () => void;
  onChange: () => void;
}

/** The grid, and what happens to its cells: an edit shows at once and is taken back when it cannot be stored. */
function Sheet({
  rows: { rows, hasMore, error, loadMore, replace },
  columns,
  isOld,
  onAdd,
  onChange,
}: SheetProps) {
  const update = useSave(UpdateRow);
  const remove = useSave(DeleteRow);
  const [deleting, setDeleting] = useState<Row | null>(null);
  const edit = async (row: Row, column: GridColumn, value: unknown) => {
    if (Object.is(value, valueIn(row, column))) return;
    replace(row.id, withValue(row, column, value));
    const input = column.isIdealOutput
      ? { idealOutput: String(value) }
      : { values: { [column.title]: value } };
    const data = await update.run({ id: row.id, input });
    replace(row.id, data?.updateDatasetItem.datasetRow ?? row);
    if (data) onChange();
  };
  const confirmDelete = async () => {
    const data = deleting && (await remove.run({ id: deleting.id }));
    if (!data) return;
    replace(deleting.id, null);
    setDeleting(null);
    onChange();
  };
  if (error) return <ErrorNotice error={error} onRetry={() => void loadMore()} />;
  if (rows.length === 0 && !hasMore)
    return (
      <Empty title="No rows yet" action={!isOld && <Button onClick={onAdd}>Add a row</Button>}>
        Rows also come from logs, by “Add to dataset”, and from files, by{" "}
        <code>npx gabbro import dataset</code>.
      </Empty>
    );
  return (
    <>
      {update.error && <ErrorNotice error={update.error} />}
      <Grid
        rows={rows}
        columns={columns}
        hasMore={hasMore}
        onMore={() => void loadMore()}
        {...(!isOld && { onEdit: (...change) => void edit(...change), onDelete: setDeleting })}
      />
      {deleting && (
        <Confirm
          title="Delete this row?"
          verb="Delete"
          error={remove.error}
          isRunning={remove.isRunning}
          onConfirm={() => void confirmDelete()}
          onClose={() => setDeleting(null)}
        >
          Earlier versions of the dataset keep it.
        </Confirm>
      )}
    </>
  );
}
