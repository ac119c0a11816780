import { getRouteApi } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import type { RejectedQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { PlainText } from "../../parts/CodeText.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { formatCount } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { PageLinks } from "../../parts/Pager.tsx";
import { type Column, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import styles from "./Settings.module.css";

const route = getRouteApi("/shell/settings");

const RejectedItems = graphql(`
  query Rejected($after: String) {
    rejectedItems(first: 25, after: $after) {
      nodes {
        id
        createdAt
        endpoint
        code
        reason
        client
        count
        sample
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

type Item = RejectedQuery["rejectedItems"]["nodes"][number];

/** What clients sent in the last days and Gabbro did not take. */
export function Rejected() {
  const { after, item } = route.useSearch();
  const navigate = route.useNavigate();
  const result = useData(RejectedItems, { after: after ?? null });
  const show = (id: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, item: id }), replace: true, resetScroll: false });
  const columns: Column<Item>[] = [
    { name: "When", cell: ({ createdAt }) => <Time at={createdAt} as="clock" /> },
    {
      name: "Reason",
      isWide: true,
      cell: ({ reason, endpoint }) => (
        <>
          <div className={styles.reason}>{reason}</div>
          <code>{endpoint}</code>
        </>
      ),
    },
    { name: "Client", isOptional: true, cell: ({ client }) => client ?? "–" },
    { name: "Times", align: "end", isOptional: true, cell: ({ count }) => formatCount(count) },
    {
      name: "Sample",
      align: "end",
      cell: ({ id }) => (
        <Button size="small" onClick={() => show(id)}>
          Show
        </Button>
      ),
    },
  ];
  return (
    <>
      <h2>Rejected items</h2>
      <Loaded result={result}>
        {({ rejectedItems: { nodes, pageInfo } }) => {
          const shown = nodes.find(({ id }) => id === item);
          return (
            <>
              {nodes.length > 0 ? (
                <Table label="Rejected items" columns={columns} rows={nodes} keyOf={({ id }) => id} />
              ) : (
                <Empty title="Nothing was rejected">
                  What clients send and is not taken shows here for 7 days.
                </Empty>
              )}
              <PageLinks after={after} pageInfo={pageInfo} words={{ first: "Latest", next: "Older" }} />
              {shown && <Sample item={shown} onClose={() => show(undefined)} />}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function Sample({ item, onClose }: { item: Item; onClose: () => void }) {
  return (
    <Dialog title="Rejected item" onClose={onClose}>
      <p>
        <code>{item.code}</code> {item.reason}
      </p>
      <h3>Sample</h3>
      <PlainText text={item.sample ?? "It was rejected before it was read."} />
    </Dialog>
  );
}
