import { useCallback, useEffect, useRef, useState } from "react";
import { type CombinedError, useClient } from "urql";
import type { DatasetRowsQuery } from "../../gql/graphql.ts";
import { graphql, readFragment } from "../../gql/index.ts";
import { GridRowFields, type Row } from "./cells.ts";

const DatasetRows = graphql(`
  query DatasetRows($slug: String!, $version: Int, $after: String) {
    dataset(slug: $slug, version: $version) {
      id
      rows(first: 300, after: $after) {
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

interface Loaded {
  rows: Row[];
  after: string | null;
  hasMore: boolean;
  error: CombinedError | undefined;
}

const NOTHING: Loaded = { rows: [], after: null, hasMore: true, error: undefined };

/** The rows that were read so far, page after page, and what was changed in them since. */
export function useRows(slug: string, version: number | null) {
  const client = useClient();
  const [loaded, setLoaded] = useState(NOTHING);
  const latest = useRef(NOTHING);
  const put = useCallback((part: Partial<Loaded>) => {
    latest.current = { ...latest.current, ...part };
    setLoaded(latest.current);
  }, []);
  const isLoading = useRef(false);
  const round = useRef(0);
  const { after, hasMore } = loaded;
  const loadMore = useCallback(async () => {
    if (isLoading.current || !hasMore) return;
    isLoading.current = true;
    const started = round.current;
    const variables = { slug, version, after };
    const { data, error } = await client
      .query<DatasetRowsQuery>(String(DatasetRows), variables, { requestPolicy: "network-only" })
      .toPromise();
    if (started !== round.current) return;
    isLoading.current = false;
    const page = data?.dataset?.rows;
    if (!page) return put({ error });
    put({
      rows: [...latest.current.rows, ...readFragment(GridRowFields, page.nodes)],
      after: page.pageInfo.endCursor ?? null,
      hasMore: page.pageInfo.hasNextPage,
      error: undefined,
    });
  }, [client, slug, version, after, hasMore, put]);
  const isEmpty = loaded.rows.length === 0 && hasMore && !loaded.error;
  useEffect(() => {
    if (isEmpty) void loadMore();
  }, [isEmpty, loadMore]);
  const change = useCallback(
    (id: string, to: (row: Row) => Row) =>
      put({ rows: latest.current.rows.map((row) => (row.id === id ? to(row) : row)) }),
    [put],
  );
  const remove = useCallback(
    (id: string) => put({ rows: latest.current.rows.filter((row) => row.id !== id) }),
    [put],
  );
  /** Shows a row that was added, if all rows before it are shown. */
  const append = useCallback(
    (row: Row) => {
      if (!latest.current.hasMore) put({ rows: [...latest.current.rows, row] });
    },
    [put],
  );
  /** Reads the rows from the first one on again. */
  const reload = useCallback(() => {
    round.current += 1;
    isLoading.current = false;
    put(NOTHING);
  }, [put]);
  /** What is read by now, for a change that has waited for others. */
  const now = useCallback(() => latest.current, []);
  return { ...loaded, now, reload, loadMore, change, remove, append };
}
