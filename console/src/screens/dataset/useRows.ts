import { useCallback, useEffect, useRef, useState } from "react";
import { type Client, type CombinedError, type OperationResult, useClient } from "urql";
import type { DatasetRowsQuery } from "../../gql/graphql.ts";
import { graphql, readFragment } from "../../gql/index.ts";
import { GridRowFields, type Row } from "./cells.ts";

const DatasetRows = graphql(`
  query DatasetRows($slug: String!, $version: Int, $after: String, $first: Int!) {
    dataset(slug: $slug, version: $version) {
      id
      rows(first: $first, after: $after) {
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

const PAGE = 300;
/** Up to the place where the reader was. Rows of more than 16 kB do not fit into an answer of so many. */
const LARGE_PAGE = 2_000;

const NOTHING: Loaded = { rows: [], after: null, hasMore: true, error: undefined };

interface From {
  slug: string;
  version: number | null;
  after: string | null;
}

async function readPage(
  client: Client,
  from: From,
  isLarge: boolean,
): Promise<OperationResult<DatasetRowsQuery>> {
  const variables = { ...from, first: isLarge ? LARGE_PAGE : PAGE };
  const result = await client
    .query<DatasetRowsQuery>(String(DatasetRows), variables, { requestPolicy: "network-only" })
    .toPromise();
  return result.error && isLarge ? readPage(client, from, false) : result;
}

/**
 * The rows that were read so far, page after page, and what was changed in them since. As many as are wanted are read at
 * once, the others on demand.
 */
export function useRows(slug: string, version: number | null, wanted: number) {
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
    const isFar = wanted - latest.current.rows.length > PAGE;
    const { data, error } = await readPage(client, { slug, version, after }, isFar);
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
  }, [client, slug, version, wanted, after, hasMore, put]);
  const isShort = loaded.rows.length < Math.max(wanted, 1) && hasMore && !loaded.error;
  useEffect(() => {
    if (isShort) void loadMore();
  }, [isShort, loadMore]);
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
