import type { Client } from "urql";
import type { ColumnType, ExportRowsQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { csvLine } from "../../parts/csv.ts";
import { sentenceOf } from "../../parts/Notice.tsx";
import { valueUnder } from "./cells.ts";
import { readFewer } from "./readFewer.ts";

const ExportRows = graphql(`
  query ExportRows($slug: String!, $version: Int!, $after: String, $first: Int!) {
    dataset(slug: $slug, version: $version) {
      id
      rows(first: $first, after: $after) {
        nodes {
          key
          name
          values
          idealOutput
          metadata
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`);

type Row = NonNullable<ExportRowsQuery["dataset"]>["rows"]["nodes"][number];

export interface Exported {
  slug: string;
  name: string;
  version: number;
  columns: readonly { name: string; type: ColumnType }[];
}

export type FileFormat = "csv" | "jsonl";

/** The browser holds the whole file until it is saved. */
export const MAX_FILE_MB = 500;
const MAX_FILE_BYTES = MAX_FILE_MB * 1024 * 1024;

const PAGE_ROWS = 500;

interface Progress {
  signal: AbortSignal;
  onRows: (count: number) => void;
}

/** A version of a dataset as a file, in the form that `gabbro import dataset` reads. Throws an error with a sentence. */
export async function exportFile(
  client: Client,
  dataset: Exported,
  format: FileFormat,
  { signal, onRows }: Progress,
): Promise<Blob> {
  const pieces: Blob[] = [new Blob([format === "csv" ? csvHead(dataset) : jsonHead(dataset)])];
  const lineOf = format === "csv" ? csvRow(dataset) : jsonLine;
  const { slug, version } = dataset;
  let after: string | null = null;
  let count = 0;
  let bytes = 0;
  do {
    const page: Page = await readPage(client, { slug, version, after });
    // Each piece is a Blob of its own, which browsers may keep on the disk.
    const piece = new Blob([page.nodes.map(lineOf).join("")]);
    pieces.push(piece);
    bytes += piece.size;
    count += page.nodes.length;
    after = page.pageInfo.hasNextPage ? (page.pageInfo.endCursor ?? null) : null;
    if (bytes > MAX_FILE_BYTES)
      throw new Error(`The file would be over ${MAX_FILE_MB} MB: use npx gabbro export dataset ${slug}.`);
    onRows(count);
  } while (after && !signal.aborted);
  return new Blob(pieces);
}

type Page = NonNullable<ExportRowsQuery["dataset"]>["rows"];

async function readPage(
  client: Client,
  variables: { slug: string; version: number; after: string | null },
): Promise<Page> {
  const { data, error } = await readFewer(client, ExportRows, { ...variables, first: PAGE_ROWS });
  if (!data?.dataset) throw new Error(error ? sentenceOf(error) : "The dataset is gone.");
  return data.dataset.rows;
}

const jsonHead = ({ slug, name, columns }: Exported): string => {
  const own = columns.map((column) => ({ name: column.name, type: column.type.toLowerCase() }));
  return `${JSON.stringify({ dataset: { slug, name, columns: own } })}\n`;
};

function jsonLine({ key, name, values, idealOutput, metadata }: Row): string {
  const row = {
    ...(key != null && { key }),
    ...(name != null && { name }),
    values,
    ...(idealOutput != null && { idealOutput }),
    ...(metadata != null && { metadata }),
  };
  return `${JSON.stringify(row)}\n`;
}

const FIELDS = ["idealOutput", "metadata", "name", "key"];

/** A heading that names the same column when it is read: with its type, and apart from the fields of a row. */
function headingOf({ name, type }: Exported["columns"][number]): string {
  const hasEnding = /:(text|json|image|file)$/.test(name);
  const stem = name.replace(/:(text|json|image|file)$/, "");
  const isReserved = [...FIELDS, "values"].includes(stem) || name.startsWith("values.");
  const ending = type !== "TEXT" || hasEnding ? `:${type.toLowerCase()}` : "";
  return `${isReserved ? "values." : ""}${name}${ending}`;
}

const csvHead = ({ columns }: Exported): string => csvLine([...columns.map(headingOf), ...FIELDS]);

const csvRow =
  ({ columns }: Exported) =>
  ({ values, idealOutput, metadata, name, key }: Row): string =>
    csvLine([
      ...columns.map((column) => cellOf(valueUnder(values, column.name), column.type)),
      idealOutput ?? null,
      metadata == null ? null : JSON.stringify(metadata),
      name ?? null,
      key ?? null,
    ]);

/** A text as it is; other values, and all in columns of type JSON, as JSON. */
function cellOf(value: unknown, type: ColumnType): string | null {
  if (value === undefined) return null;
  if (type === "JSON") return JSON.stringify(value);
  return typeof value === "string" && !value.startsWith("json:") ? value : `json:${JSON.stringify(value)}`;
}
