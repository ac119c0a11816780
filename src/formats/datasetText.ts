import type { Column } from "../datasets/entities.ts";
import type { Row } from "../datasets/resolvers.ts";
import { type Cell, headingOf, toCell } from "./cells.ts";
import { toCsv } from "./csv.ts";
import type { Format } from "./formats.ts";

interface Head {
  slug: string;
  name: string;
  columns: Column[];
}

/** The text of a dataset's file, piece by piece; `openRows` reads it as the same dataset. */
export function datasetText(
  format: Format,
  head: Head,
  pieces: AsyncIterable<Row[]>,
): AsyncGenerator<string> {
  const publicHead = {
    slug: head.slug,
    name: head.name,
    columns: head.columns.map(({ name, type }) => ({ name, type })),
  };
  if (format === "csv") return csvText(publicHead.columns, pieces);
  return format === "json" ? jsonText(publicHead, pieces) : jsonLinesText(publicHead, pieces);
}

async function* csvText(columns: Column[], pieces: AsyncIterable<Row[]>): AsyncGenerator<string> {
  yield toCsv([[...columns.map(headingOf), "idealOutput", "metadata", "name", "key"]]);
  for await (const rows of pieces) {
    yield toCsv(
      rows.map(({ values, idealOutput, metadata, name, key }): Cell[] => [
        ...columns.map(({ name, type }) =>
          toCell(Object.hasOwn(values, name) ? values[name] : undefined, type),
        ),
        idealOutput,
        metadata === null ? null : JSON.stringify(metadata),
        name,
        key,
      ]),
    );
  }
}

async function* jsonText(head: Head, pieces: AsyncIterable<Row[]>): AsyncGenerator<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"rows":[`;
  let between = "\n";
  for await (const rows of pieces) {
    yield `${between}${rows.map(rowText).join(",\n")}`;
    between = ",\n";
  }
  yield "\n]}\n";
}

async function* jsonLinesText(head: Head, pieces: AsyncIterable<Row[]>): AsyncGenerator<string> {
  yield `${JSON.stringify({ dataset: head })}\n`;
  for await (const rows of pieces) yield rows.map((row) => `${rowText(row)}\n`).join("");
}

function rowText({ name, key, values, idealOutput, metadata }: Row): string {
  return JSON.stringify({
    ...(key !== null && { key }),
    ...(name !== null && { name }),
    values,
    ...(idealOutput !== null && { idealOutput }),
    ...(metadata !== null && { metadata }),
  });
}
