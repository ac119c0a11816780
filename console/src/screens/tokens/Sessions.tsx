import { useState } from "react";
import { useData, useSave } from "../../data.ts";
import type { ConsoleSessionsQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Badge } from "../../parts/Badge.tsx";
import { Button } from "../../parts/Button.tsx";
import { Confirm } from "../../parts/Confirm.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Card } from "../../parts/Page.tsx";
import { type Column, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import { useToast } from "../../parts/Toast.tsx";
import { useSignOut } from "../../shell/useSignOut.ts";

const ConsoleSessions = graphql(`
  query ConsoleSessions {
    consoleSessions(last: 1000) {
      nodes {
        id
        isCurrent
        createdAt
        lastUsedAt
        expiresAt
        accessToken {
          id
          name
        }
      }
    }
  }
`);

const EndSession = graphql(`
  mutation EndSession($id: ID!) {
    endConsoleSession(id: $id) {
      deletedConsoleSessionId
    }
  }
`);

type Session = ConsoleSessionsQuery["consoleSessions"]["nodes"][number];

/** The browsers that are signed in, the latest first. */
export function Sessions() {
  const result = useData(ConsoleSessions, {});
  const end = useSave(EndSession);
  const [ending, setEnding] = useState<Session | null>(null);
  const toast = useToast();
  const signOut = useSignOut();
  const confirm = async () => {
    if (!ending || !(await end.run({ id: ending.id }))) return;
    setEnding(null);
    result.retry();
    toast("The browser is signed out");
  };
  return (
    <Card title="Sessions">
      <Loaded result={result}>
        {({ consoleSessions: { nodes } }) => (
          <Table
            label="Signed-in browsers"
            columns={columnsOf((session) => (session.isCurrent ? signOut() : setEnding(session)))}
            rows={nodes.toReversed()}
            keyOf={({ id }) => id}
          />
        )}
      </Loaded>
      {ending && (
        <Confirm
          title="Sign this browser out?"
          verb="Sign out"
          error={end.error}
          isRunning={end.isRunning}
          onConfirm={() => void confirm()}
          onClose={() => setEnding(null)}
        >
          It was signed in with {ending.accessToken?.name ?? "a token that is gone"}, and can be signed in
          again with it. Revoke the token to prevent that.
        </Confirm>
      )}
    </Card>
  );
}

function columnsOf(onEnd: (session: Session) => void): Column<Session>[] {
  return [
    {
      name: "Token",
      isWide: true,
      cell: ({ accessToken, isCurrent }) => (
        <>
          {accessToken?.name ?? "–"} {isCurrent && <Badge tone="accent">this browser</Badge>}
        </>
      ),
    },
    { name: "Signed in", isOptional: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    { name: "Last used", cell: ({ lastUsedAt }) => <Time at={lastUsedAt} /> },
    { name: "Ends unused", isOptional: true, cell: ({ expiresAt }) => <Time at={expiresAt} /> },
    {
      name: "State",
      align: "end",
      cell: (session) => (
        <Button kind="danger" size="small" onClick={() => onEnd(session)}>
          Sign out
        </Button>
      ),
    },
  ];
}
