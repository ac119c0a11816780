import { useCallback, useEffect, useRef, useState } from "react";
import {
  type AnyVariables,
  Client,
  type CombinedError,
  cacheExchange,
  fetchExchange,
  makeOperation,
  mapExchange,
  useClient,
  useQuery,
} from "urql";
import type { TypedDocumentString } from "./gql/graphql.ts";
import { endSession, workspaceHeader } from "./session.ts";
import { useShownQuery } from "./shownQueries.ts";

const JSON_ALONE = "application/graphql-response+json, application/json";

/**
 * Requests say which workspace the page shows. Queries and mutations ask for JSON alone, which Gabbro answers fastest and repeats
 * for an `Idempotency-Key`.
 */
const withHeaders = mapExchange({
  onOperation: (operation) => {
    const { fetchOptions } = operation.context;
    const { headers } = (typeof fetchOptions === "function" ? fetchOptions() : fetchOptions) ?? {};
    const added = workspaceHeader();
    if (operation.kind !== "subscription") added.accept = JSON_ALONE;
    return makeOperation(operation.kind, operation, {
      ...operation.context,
      fetchOptions: { headers: { ...headers, ...added } },
    });
  },
  onError: ({ graphQLErrors }) => {
    if (graphQLErrors.some(({ extensions }) => extensions.code === "UNAUTHENTICATED")) endSession();
  },
});

const options = { url: "/graphql", preferGetMethod: false, fetchSubscriptions: true };

export const createClient = () =>
  new Client({ ...options, exchanges: [cacheExchange, withHeaders, fetchExchange] });

/** For the pages of long lists, all of which a cache would keep. */
export const uncachedClient = new Client({ ...options, exchanges: [withHeaders, fetchExchange] });

type Document<Data, Variables> = TypedDocumentString<Data, Variables>;

export interface QueryResult<Data> {
  data: Data | undefined;
  error: CombinedError | undefined;
  isStale: boolean;
  retry: () => void;
}

interface Options {
  isPaused?: boolean;
  /** Fetches once, as nobody can change it, such as the texts of a version. */
  isFixed?: boolean;
  /** Gives nothing until the answer to these very variables is there, for what has a state of its own. */
  isExact?: boolean;
}

/**
 * The answer to a query: from the cache at once, where it is there, and fetched anew each time the screen opens; the
 * earlier one while variables change. It stays beside the error when it cannot be fetched again.
 */
export function useData<Data, Variables extends AnyVariables>(
  document: Document<Data, Variables>,
  variables: Variables,
  { isPaused = false, isFixed = false, isExact = false }: Options = {},
): QueryResult<Data> {
  const [{ data, error, fetching, stale, operation }, execute] = useQuery<Data>({
    query: String(document),
    variables: variables as AnyVariables,
    pause: isPaused,
    requestPolicy: isFixed ? "cache-first" : "cache-and-network",
  });
  useShownQuery(String(document), variables, isPaused);
  const retry = useCallback(() => execute({ requestPolicy: "network-only" }), [execute]);
  const key = JSON.stringify(variables);
  const isOwn = JSON.stringify(operation?.variables) === key;
  const last = useRef<{ key: string; data: Data }>(undefined);
  if (data !== undefined && isOwn) last.current = { key, data };
  const own = last.current?.key === key ? last.current.data : undefined;
  return { data: isExact || data === undefined ? own : data, error, isStale: fetching || stale, retry };
}

export interface Save<Data, Variables> {
  /** Sends the mutation. Gives its data, or null and sets `error`. */
  run: (variables: Variables) => Promise<Data | null>;
  error: CombinedError | undefined;
  isRunning: boolean;
}

/** A mutation that is carried out once, however often it is sent again after an error of the network. */
export function useSave<Data, Variables extends AnyVariables>(
  document: Document<Data, Variables>,
): Save<Data, Variables> {
  const client = useClient();
  const [error, setError] = useState<CombinedError>();
  const [isRunning, setIsRunning] = useState(false);
  const attempt = useRef({ request: "", key: "" });
  const run = useCallback(
    async (variables: Variables): Promise<Data | null> => {
      const request = JSON.stringify(variables);
      if (attempt.current.request !== request) attempt.current = { request, key: crypto.randomUUID() };
      setIsRunning(true);
      const fetchOptions = { headers: { "idempotency-key": attempt.current.key } };
      const result = await client
        .mutation<Data>(String(document), variables as AnyVariables, { fetchOptions })
        .toPromise();
      setIsRunning(false);
      setError(result.error);
      // Only an attempt whose outcome is not known is repeated with its key.
      if (!result.error?.networkError) attempt.current = { request: "", key: "" };
      return result.error ? null : (result.data ?? null);
    },
    [client, document],
  );
  return { run, error, isRunning };
}

interface Events<Data> {
  isPaused: boolean;
  onEvent: (data: Data) => void;
  /** Events may be missing, as the stream was broken and is listened to again. */
  onGap?: () => void;
}

/** How long after the end of a stream it is listened to again; each failure doubles it. */
const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 30_000;

/** Calls back with each event of a subscription while it is not paused, over ends and failures of the network. */
export function useEvents<Data, Variables extends AnyVariables>(
  document: Document<Data, Variables>,
  variables: Variables,
  { isPaused, ...callbacks }: Events<Data>,
): { error: CombinedError | undefined } {
  const client = useClient();
  const [error, setError] = useState<CombinedError>();
  const latest = useRef(callbacks);
  latest.current = callbacks;
  const key = JSON.stringify(variables);
  useEffect(() => {
    if (isPaused) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waitMs = MIN_WAIT_MS;
    const listen = () =>
      client.subscription<Data>(String(document), JSON.parse(key)).subscribe((result) => {
        setError(result.error);
        // The end of a stream repeats its last event.
        if (result.data && result.hasNext) {
          waitMs = MIN_WAIT_MS;
          latest.current.onEvent(result.data);
        }
        // An error of Gabbro's own, such as a missing scope, would come again.
        if (!result.hasNext && !result.error?.graphQLErrors.length) timer = setTimeout(listenAgain, waitMs);
      });
    let stream = listen();
    const listenAgain = () => {
      waitMs = Math.min(2 * waitMs, MAX_WAIT_MS);
      setError(undefined);
      latest.current.onGap?.();
      stream = listen();
    };
    return () => {
      clearTimeout(timer);
      stream.unsubscribe();
    };
  }, [client, document, key, isPaused]);
  return { error };
}
