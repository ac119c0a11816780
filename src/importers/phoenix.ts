import { type ForeignRow, openForeignFile } from "../database/sqlite/foreignFile.ts";
import { isObject } from "../formats/rows.ts";
import type { Entry, Importer, Place } from "./entries.ts";
import { phoenixPrompts } from "./phoenixPrompts.ts";
import { annotationSpan, phoenixSpan } from "./phoenixSpans.ts";
import { parseForeignJson, TOO_DEEP } from "./records.ts";
import { slugOf } from "./slugs.ts";
import { textIn, toIdealOutputOf, toMetadata, toValues } from "./values.ts";

const TABLES = [
  ...["projects", "traces", "spans", "span_annotations", "trace_annotations"],
  ...["datasets", "dataset_examples", "dataset_example_revisions"],
  ...["prompts", "prompt_versions", "prompt_version_tags"],
];

/** Reads the SQLite file of Phoenix, `phoenix.db`. Prompts come first, as spans may name them. */
export const phoenix: Importer = async function* (path) {
  const file = openForeignFile(path, TABLES);
  try {
    const rows = (query: string) => file.rows(query);
    yield* phoenixPrompts(path, rows);
    for (const row of rows(DATASETS)) yield datasetEntry(placeOf(path, "datasets", row), row);
    for (const row of rows(EXAMPLES))
      yield parsing(placeOf(path, "dataset_examples", row), row, exampleEntry);
    for (const row of rows(SPANS)) yield parsing(placeOf(path, "spans", row), row, phoenixSpan);
    for (const table of ["span_annotations", "trace_annotations"] as const)
      for (const row of rows(ANNOTATIONS[table]))
        yield parsing(placeOf(path, table, row), row, (place, each) => annotationSpan(place, table, each));
  } finally {
    file.close();
  }
};

/** A file of SQLite has no lines, so a row is found by its table and its id. */
export const placeOf = (path: string, table: string, { id }: ForeignRow): Place => ({
  file: `${path}, table ${table}`,
  line: Number(id),
});

const SPANS = `select spans.*, traces.trace_id, projects.name as project from spans
  join traces on traces.id = spans.trace_rowid join projects on projects.id = traces.project_rowid
  order by spans.id`;

const ANNOTATIONS = {
  span_annotations: `select a.*, spans.span_id, traces.trace_id from span_annotations a
    join spans on spans.id = a.span_rowid join traces on traces.id = spans.trace_rowid order by a.id`,
  trace_annotations: `select a.*, null as span_id, traces.trace_id from trace_annotations a
    join traces on traces.id = a.trace_rowid order by a.id`,
};

const DATASETS = "select * from datasets order by id";

/** The newest revision of each example that is not deleted. */
const EXAMPLES = `select e.id, e.external_id, e.created_at, d.name as dataset, spans.span_id, r.input, r.output, r.metadata
  from dataset_examples e join datasets d on d.id = e.dataset_id
  join dataset_example_revisions r on r.id = (
    select o.id from dataset_example_revisions o where o.dataset_example_id = e.id
    order by o.dataset_version_id desc limit 1)
  left join spans on spans.id = e.span_rowid
  where r.revision_kind <> 'DELETE' order by e.id`;

const JSON_COLUMNS = ["attributes", "events", "input", "output", "metadata"];

/** Makes an entry of a row after parsing its JSON. */
function parsing(place: Place, row: ForeignRow, make: (place: Place, row: ForeignRow) => Entry): Entry {
  try {
    const parsed = JSON_COLUMNS.filter((name) => typeof row[name] === "string").map((name) => [
      name,
      parseForeignJson(String(row[name])),
    ]);
    return make(place, { ...row, ...Object.fromEntries(parsed) });
  } catch (error) {
    if (error instanceof RangeError) return { kind: "refused", ...place, reason: TOO_DEEP };
    if (!(error instanceof SyntaxError)) throw error;
    return { kind: "refused", ...place, reason: "has a column that is not valid JSON" };
  }
}

function datasetEntry(place: Place, row: ForeignRow): Entry {
  const name = textIn(row, "name") ?? "";
  return { kind: "dataset", ...place, slug: slugOf(name), name };
}

function exampleEntry(place: Place, row: ForeignRow): Entry {
  const name = textIn(row, "dataset") ?? "";
  const { idealOutput, outputKey } = toIdealOutputOf(row.output);
  const own = isObject(row.metadata) && Object.keys(row.metadata).length === 0 ? null : row.metadata;
  return {
    kind: "item",
    ...place,
    dataset: { slug: slugOf(name), name },
    row: {
      key: textIn(row, "external_id") ?? `DatasetExample:${row.id}`,
      values: toValues(row.input),
      idealOutput,
      metadata: toMetadata(own, { createdAt: row.created_at, spanId: row.span_id, outputKey }),
    },
  };
}
