import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { CombinedError } from "urql";
import { uncachedClient } from "../../data.ts";
import { graphql, readFragment } from "../../gql/index.ts";
import type { Row } from "./cells.ts";
import { GridRowFields } from "./gridRowFields.ts";
import { HeldRows } from "./HeldRows.ts";
import { readFewer } from "./readFewer.ts";
import type { PageToRead } from "./runs.ts";

const DatasetRows = graphql(`
  query DatasetRows($slug: String!, $version: Int, $after: String, $offset: Int!, $first: Int!) {
    dataset(slug: $slug, version: $version) {
      id
      rows(first: $first, after: $after, offset: $offset) {
        nodes {
          ...GridRow
        }
        pageInfo {
          hasNextPage
          endCursor
        }
      }
    }
  }
`);

interface Options {
  slug: string;
  version: number | null;
  rowCount: number;
  /** The names of the columns, under which rows have their values. */
  columns: string;
  /** Whether a newer count is on its way. */
  isStale: boolean;
  /** The row that is in view at first, if it is known before the grid is laid out. */
  firstRow: number | null;
  /** The dataset does not have as many rows as it had. */
  onOtherCount: () => void;
}

/** The rows of a dataset, of which those near the view are held. */
export function useRows({ slug, version, rowCount, columns, isStale, firstRow, onOtherCount }: Options) {
  const [held] = useState(() => {
    const read = async ({ after, offset, first }: PageToRead) => {
      const page = { slug, version, after, offset, first };
      const { data, error } = await readFewer(uncachedClient, DatasetRows, page);
      const rows = data?.dataset?.rows;
      if (!rows) return { error: error ?? new CombinedError({ networkError: new Error("No rows came.") }) };
      const { hasNextPage, endCursor } = rows.pageInfo;
      const entries = [...readFragment(GridRowFields, rows.nodes)];
      return { data: { entries, end: endCursor ?? null, hasNext: hasNextPage } };
    };
    return new HeldRows<Row>(rowCount, read);
  });
  const { list, error } = useSyncExternalStore(held.subscribe, held.now);
  useEffect(() => {
    held.onOtherCount = onOtherCount;
  }, [held, onOtherCount]);
  // Each new count, also an equal one: others may have added as many rows as were deleted here.
  useEffect(() => {
    if (!isStale) held.setCount(rowCount);
  }, [held, rowCount, isStale]);
  const shownColumns = useRef(columns);
  useEffect(() => {
    if (shownColumns.current === columns) return;
    shownColumns.current = columns;
    held.reload();
  }, [held, columns]);
  useEffect(() => {
    if (firstRow !== null) held.view({ from: firstRow, to: firstRow + 1 });
  }, [held, firstRow]);
  return { list, error, held };
}
