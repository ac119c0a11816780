import { getRouteApi } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import type { AuditLogQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Button } from "../../parts/Button.tsx";
import { PlainText } from "../../parts/CodeText.tsx";
import { Dialog } from "../../parts/Dialog.tsx";
import { formatJson } from "../../parts/format.ts";
import { Loaded } from "../../parts/Loaded.tsx";
import { Empty } from "../../parts/Notice.tsx";
import { Page } from "../../parts/Page.tsx";
import { PageLinks } from "../../parts/Pager.tsx";
import { type Column, RowName, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";

const route = getRouteApi("/shell/audit");

const AuditLog = graphql(`
  query AuditLog($after: String) {
    auditLog(first: 50, after: $after) {
      nodes {
        id
        createdAt
        action
        subject
        token
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

const AuditChange = graphql(`
  query AuditChange($id: ID!) {
    node(id: $id) {
      __typename
      ... on AuditEntry {
        id
        action
        subject
        before
        after
      }
    }
  }
`);

type Entry = AuditLogQuery["auditLog"]["nodes"][number];

export function Audit() {
  const { after, entry } = route.useSearch();
  const navigate = route.useNavigate();
  const result = useData(AuditLog, { after: after ?? null });
  const show = (id: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, entry: id }), replace: true });
  const columns: Column<Entry>[] = [
    { name: "When", cell: ({ createdAt }) => <Time at={createdAt} as="clock" /> },
    {
      name: "Operation",
      isWide: true,
      cell: ({ action, subject }) => <RowName name={subject} slug={action} />,
    },
    { name: "By", isOptional: true, cell: ({ token }) => token },
    {
      name: "Change",
      align: "end",
      cell: ({ id }) => (
        <Button size="small" onClick={() => show(id)}>
          Show
        </Button>
      ),
    },
  ];
  return (
    <Page title="Audit log" about="Who changed which prompt, tag, dataset, price or token, the latest first.">
      <Loaded result={result}>
        {({ auditLog: { nodes, pageInfo } }) =>
          nodes.length > 0 ? (
            <>
              <Table label="Audit log" columns={columns} rows={nodes} keyOf={({ id }) => id} />
              <PageLinks after={after} pageInfo={pageInfo} words={{ first: "Latest", next: "Older" }} />
            </>
          ) : (
            <Empty title="Nothing was changed yet">Each change shows here from then on.</Empty>
          )
        }
      </Loaded>
      {entry && <Change id={entry} onClose={() => show(undefined)} />}
    </Page>
  );
}

function Change({ id, onClose }: { id: string; onClose: () => void }) {
  const result = useData(AuditChange, { id }, { isFixed: true });
  return (
    <Dialog title="Change" onClose={onClose}>
      <Loaded result={result}>
        {({ node }) =>
          node?.__typename === "AuditEntry" ? (
            <>
              <p>
                <code>{node.action}</code> {node.subject}
              </p>
              <h3>Before</h3>
              <PlainText text={node.before ? formatJson(node.before) : "Nothing"} />
              <h3>After</h3>
              <PlainText text={node.after ? formatJson(node.after) : "Nothing"} />
            </>
          ) : (
            <Empty title="There is no such entry" />
          )
        }
      </Loaded>
    </Dialog>
  );
}
