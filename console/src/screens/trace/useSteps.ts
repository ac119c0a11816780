import { useCallback, useEffect, useState } from "react";
import { type Client, type CombinedError, useClient } from "urql";
import { useEvents } from "../../data.ts";
import type { StepsQuery, StepsQueryVariables } from "../../gql/graphql.ts";
import { type Step, Steps, TraceChanged } from "./queries.ts";

interface Loaded {
  steps: readonly Step[];
  /** Whether all pages have come. */
  isWhole: boolean;
  /** Whether all steps have the beginnings of their inputs and outputs. */
  hasTexts: boolean;
  error: CombinedError | undefined;
}

const NOTHING: Loaded = { steps: [], isWhole: false, hasTexts: false, error: undefined };
/** How long a change of the trace waits for others; large traces wait as long as they load. */
const MIN_WAIT_MS = 400;

interface Wanted {
  id: string;
  /** Whether the beginnings of inputs and outputs are wanted. */
  withTexts: boolean;
}

/** The steps of a trace in display order, page after page; read anew when the trace changes or texts are wanted. */
export function useSteps({ id, withTexts }: Wanted, onChanged: () => void) {
  const client = useClient();
  const [loaded, setLoaded] = useState(NOTHING);
  const [reading, setReading] = useState({ round: 0, isOver: false, ms: 0 });
  const [isChanged, setIsChanged] = useState(false);
  const { round } = reading;
  useEffect(() => {
    const left = new AbortController();
    const startMs = performance.now();
    // Until a trace is there again as a whole, what was shown of it stays.
    const onPage = (page: Loaded) =>
      setLoaded((now) => (now.isWhole && !page.isWhole && !page.error ? now : page));
    void readPages(client, { id, withTexts }, { signal: left.signal, onPage }).then(() => {
      if (!left.signal.aborted) setReading({ round, isOver: true, ms: performance.now() - startMs });
    });
    return () => left.abort();
  }, [client, id, withTexts, round]);
  const retry = useCallback(
    () => setReading(({ round: last, ms }) => ({ round: last + 1, isOver: false, ms })),
    [],
  );
  const onEvent = useCallback(() => setIsChanged(true), []);
  const { error: liveError } = useEvents(TraceChanged, { id }, { isPaused: false, onEvent, onGap: onEvent });
  useEffect(() => {
    if (!isChanged || !reading.isOver) return;
    const readAgain = () => {
      setIsChanged(false);
      retry();
      onChanged();
    };
    const timer = setTimeout(readAgain, Math.max(MIN_WAIT_MS, 2 * reading.ms));
    return () => clearTimeout(timer);
  }, [isChanged, reading, retry, onChanged]);
  return { ...loaded, liveError, retry };
}

interface Reading {
  signal: AbortSignal;
  onPage: (loaded: Loaded) => void;
}

async function readPages(client: Client, wanted: Wanted, { signal, onPage }: Reading): Promise<void> {
  let steps: readonly Step[] = [];
  let after: string | null = null;
  while (!signal.aborted) {
    const { page, error }: Page = await readPage(client, { ...wanted, after });
    if (signal.aborted) return;
    if (!page) return onPage({ steps, isWhole: false, hasTexts: false, error });
    steps = [...steps, ...page.nodes];
    after = page.pageInfo.endCursor ?? null;
    const isWhole = !page.pageInfo.hasNextPage;
    onPage({ steps, isWhole, hasTexts: isWhole && wanted.withTexts, error: undefined });
    if (isWhole) return;
  }
}

interface Page {
  page: NonNullable<StepsQuery["trace"]>["logs"] | undefined;
  error: CombinedError | undefined;
}

async function readPage(client: Client, variables: StepsQueryVariables): Promise<Page> {
  const { data, error } = await client
    .query<StepsQuery>(String(Steps), variables, { requestPolicy: "network-only" })
    .toPromise();
  return { page: data?.trace?.logs, error };
}
