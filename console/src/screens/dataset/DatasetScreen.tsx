import { getRouteApi, Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import type { DatasetHeadQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Badge, TagBadge } from "../../parts/Badge.tsx";
import { Button, buttonClass } from "../../parts/Button.tsx";
import { formatCount, formatRows } from "../../parts/format.ts";
import { Icon } from "../../parts/Icon.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Page } from "../../parts/Page.tsx";
import { gridColumnsOf } from "./cells.ts";
import styles from "./Dataset.module.css";
import { DropFile, ImportButton } from "./DropFile.tsx";
import { ExportDialog } from "./ExportDialog.tsx";
import { ReportNotice } from "./Report.tsx";
import { Sheet } from "./Sheet.tsx";
import { StoringProgress } from "./StoringProgress.tsx";
import { useImport } from "./useImport.ts";
import { usePlace } from "./usePlace.ts";
import { useRefetch } from "./useRefetch.ts";
import { useRows } from "./useRows.ts";

const route = getRouteApi("/shell/datasets/$slug");

const DatasetHead = graphql(`
  query DatasetHead($slug: String!, $version: Int) {
    dataset(slug: $slug, version: $version) {
      id
      slug
      name
      version
      rowCount
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

/** Apart from the others, as it reads all rows: 2 s for a million. */
const DatasetWarning = graphql(`
  query DatasetWarning($slug: String!, $version: Int) {
    dataset(slug: $slug, version: $version) {
      id
      warning
    }
  }
`);

type Dataset = NonNullable<DatasetHeadQuery["dataset"]>;

export function DatasetScreen() {
  const { slug } = route.useParams();
  const { version } = route.useSearch();
  const variables = { slug, version: version ? Number(version) : null };
  const result = useData(DatasetHead, variables, { isExact: true });
  const refetch = useRefetch(result);
  return (
    <Loaded result={result}>
      {(data) =>
        data.dataset && (
          <DatasetPage
            key={`${slug} ${version}`}
            dataset={data.dataset}
            isStale={result.isStale || data !== result.data}
            onChange={refetch}
          />
        )
      }
    </Loaded>
  );
}

interface Props {
  dataset: Dataset;
  /** Whether a newer answer is on its way. */
  isStale: boolean;
  onChange: () => void;
}

function DatasetPage({ dataset, isStale, onChange }: Props) {
  const { slug, name, columns, rowCount } = dataset;
  const { version, dialog } = route.useSearch();
  const navigate = route.useNavigate();
  const place = usePlace(slug, version);
  const rows = useRows({
    ...{ slug, version: version ? Number(version) : null, rowCount, isStale },
    ...{ columns: JSON.stringify(columns), firstRow: place.row, onOtherCount: onChange },
  });
  const setDialog = (next: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, dialog: next }), replace: true });
  const isOld = version !== undefined;
  const { start, cancel, progress, report, closeReport } = useImport({
    ...{ slug, columns: gridColumnsOf(columns) },
    onDone: () => {
      rows.held.reload();
      onChange();
    },
  });
  const onFile = (file: File) => void start(file);
  return (
    <Page
      title={name}
      heading={<Heading dataset={dataset} isOld={isOld} />}
      about={`${formatRows(rowCount)}${isOld ? ", as they were: an old version cannot be changed" : ""}`}
      back={
        <Link to="/datasets">
          <Icon name="back" size={13} /> Datasets
        </Link>
      }
      actions={
        isOld ? (
          <>
            <Button onClick={() => setDialog("export")}>Export…</Button>
            <Link to="/datasets/$slug" params={{ slug }} className={buttonClass()}>
              Show it as it is
            </Link>
          </>
        ) : (
          <>
            <Button onClick={() => setDialog("export")}>Export…</Button>
            <ImportButton onFile={onFile} />
            <Button onClick={() => setDialog("columns")}>Columns…</Button>
            <Button kind="primary" icon="plus" onClick={() => setDialog("add")}>
              Add row
            </Button>
          </>
        )
      }
    >
      <Warning key={columns.map((column) => column.name).join()} slug={slug} version={version} />
      {progress && <StoringProgress progress={progress} onCancel={cancel} />}
      {report && <ReportNotice report={report} onClose={closeReport} />}
      <DropFile onFile={isOld ? () => {} : onFile}>
        <Sheet
          slug={slug}
          rows={rows}
          place={place}
          columns={columns}
          isOld={isOld}
          dialog={dialog}
          onDialog={setDialog}
          onChange={onChange}
        />
      </DropFile>
      {dialog === "export" && <ExportDialog dataset={dataset} onClose={() => setDialog(undefined)} />}
    </Page>
  );
}

function Heading({ dataset, isOld }: { dataset: Dataset; isOld: boolean }) {
  const { slug, name, version, tags } = dataset;
  return (
    <>
      {name} <code className={styles.slug}>{slug}</code>{" "}
      <Badge tone={isOld ? "warn" : "neutral"}>Version {formatCount(version)}</Badge>{" "}
      {tags.map(({ id, label, version: tagged }) => (
        <Link key={id} to="/datasets/$slug" params={{ slug }} search={{ version: String(tagged) }}>
          <TagBadge label={label} />
        </Link>
      ))}
    </>
  );
}

/** Names the columns that are gone and have values in rows. */
function Warning({ slug, version }: { slug: string; version: string | undefined }) {
  const { data } = useData(DatasetWarning, { slug, version: version ? Number(version) : null });
  return data?.dataset?.warning && <p>{data.dataset.warning}</p>;
}
