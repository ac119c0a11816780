import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { CombinedError, type OperationResult } from "urql";
import { uncachedClient } from "../../data.ts";
import type { DatasetRowsQuery } from "../../gql/graphql.ts";
import { graphql, readFragment } from "../../gql/index.ts";
import type { Row } from "./cells.ts";
import { GridRowFields } from "./gridRowFields.ts";
import { HeldRows } from "./HeldRows.ts";
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
    const read = async (page: PageToRead) => {
      const { data, error } = await readPage({ slug, version, ...page });
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

type Variables = Omit<PageToRead, "from"> & { slug: string; version: number | null };

/** Reads fewer rows where an answer of so many would be too large. */
async function readPage({
  slug,
  version,
  after,
  offset,
  first,
}: Variables): Promise<OperationResult<DatasetRowsQuery>> {
  const variables = { slug, version, after, offset, first };
  const result = await uncachedClient.query<DatasetRowsQuery>(String(DatasetRows), variables).toPromise();
  const isTooLarge = result.error?.graphQLErrors.some(
    ({ extensions }) => extensions.code === "QUERY_TOO_COMPLEX",
  );
  if (!isTooLarge || first === 1) return result;
  return readPage({ slug, version, after, offset, first: Math.ceil(first / 10) });
}
