import { getRouteApi, Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import type { DatasetHeadQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Badge, TagBadge } from "../../parts/Badge.tsx";
import { Button, buttonClass } from "../../parts/Button.tsx";
import { formatCount } from "../../parts/format.ts";
import { Icon } from "../../parts/Icon.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Page } from "../../parts/Page.tsx";
import { AddRow } from "./AddRow.tsx";
import { gridColumnsOf } from "./cells.ts";
import styles from "./Dataset.module.css";
import { DropFile, ImportButton, ImportProgress } from "./DropFile.tsx";
import { ExportDialog } from "./ExportDialog.tsx";
import { ReportNotice } from "./Report.tsx";
import { Sheet } from "./Sheet.tsx";
import { useImport } from "./useImport.ts";
import { usePlace } from "./usePlace.ts";
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

type Dataset = NonNullable<DatasetHeadQuery["dataset"]>;

export function DatasetScreen() {
  const { slug } = route.useParams();
  const { version } = route.useSearch();
  const variables = { slug, version: version ? Number(version) : null };
  const result = useData(DatasetHead, variables, { isExact: true });
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
  const { version, dialog } = route.useSearch();
  const navigate = route.useNavigate();
  const place = usePlace(slug, version);
  const rows = useRows(slug, version ? Number(version) : null, place.rowCount);
  const setDialog = (next: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, dialog: next }), replace: true });
  const isOld = version !== undefined;
  const { start, cancel, progress, report, closeReport } = useImport({
    ...{ slug, columns: gridColumnsOf(columns) },
    onDone: () => {
      rows.reload();
      onChange();
    },
  });
  const onFile = (file: File) => void start(file);
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
      {warning && <p>{warning}</p>}
      {progress && <ImportProgress progress={progress} onCancel={cancel} />}
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
