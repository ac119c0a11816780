import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";
import { useData } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { Page } from "../../parts/Page.tsx";
import { PageLinks } from "../../parts/Pager.tsx";
import { filterOf } from "../logs/filter.ts";
import { Filters, type TraceSearch } from "./Filters.tsx";
import { TraceTable } from "./TraceTable.tsx";

const route = getRouteApi("/shell/traces");

const TraceList = graphql(`
  query TraceList($filter: LogFilter!, $after: String, $first: Int!) {
    traces(filter: $filter, after: $after, first: $first) {
      nodes {
        ...TraceOfList
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

const PAGE = 25;
/** More than a screen shows, as only these are sorted. */
const SORTED_PAGE = 100;

export function Traces() {
  const { after, sort, ...search } = route.useSearch();
  const navigate = route.useNavigate();
  const key = JSON.stringify(search);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for what is searched; time alone changes nothing
  const filter = useMemo(() => filterOf(search, Date.now()), [key]);
  const result = useData(TraceList, {
    filter,
    after: after ?? null,
    first: sort ? SORTED_PAGE : PAGE,
  });
  const isFiltered = Object.keys(search).length > 0;
  const change = useCallback(
    (part: TraceSearch) =>
      void navigate({ search: (now) => ({ ...now, ...part, after: undefined }), replace: true }),
    [navigate],
  );
  const clear = () => void navigate({ search: {}, replace: true });
  return (
    <Page
      title="Traces"
      about="Requests of your applications with the steps that they took, the latest first."
    >
      <Filters search={{ ...search, ...(sort && { sort }) }} onChange={change}>
        {isFiltered && (
          <Button kind="quiet" onClick={clear}>
            Clear
          </Button>
        )}
      </Filters>
      <Loaded result={result}>
        {({ traces: { nodes, pageInfo } }) =>
          nodes.length > 0 ? (
            <>
              <TraceTable traces={nodes} sort={sort} />
              <PageLinks after={after} pageInfo={pageInfo} words={{ first: "Latest", next: "Older" }} />
            </>
          ) : isFiltered ? (
            <Empty title="No trace fits" action={<Button onClick={clear}>Show all</Button>}>
              A trace fits when one of its steps does.
            </Empty>
          ) : (
            <Empty title="No traces yet">
              Applications report them with <code>POST /monitor/trace</code>, or with OpenTelemetry to{" "}
              <code>POST /v1/traces</code>.
            </Empty>
          )
        }
      </Loaded>
    </Page>
  );
}
