import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useData, useSave } from "../../data.ts";
import type { AccessTokensQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { Badge } from "../../parts/Badge.tsx";
import { Button } from "../../parts/Button.tsx";
import { Confirm } from "../../parts/Confirm.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Page } from "../../parts/Page.tsx";
import { PageLinks } from "../../parts/Pager.tsx";
import table from "../../parts/Table.module.css";
import { type Column, Table } from "../../parts/Table.tsx";
import { Time } from "../../parts/Time.tsx";
import { useToast } from "../../parts/Toast.tsx";
import { shellRoute } from "../../shell/routes.tsx";
import { NewToken } from "./NewToken.tsx";
import { Sessions } from "./Sessions.tsx";

const route = getRouteApi("/shell/tokens");

const AccessTokens = graphql(`
  query AccessTokens($after: String) {
    accessTokens(first: 100, after: $after) {
      nodes {
        id
        name
        scopes
        createdAt
        expiresAt
        revokedAt
        lastUsedAt
      }
      pageInfo {
        hasNextPage
        endCursor
      }
    }
  }
`);

const RevokeToken = graphql(`
  mutation RevokeToken($id: ID!) {
    revokeAccessToken(id: $id) {
      accessToken {
        id
        name
        revokedAt
      }
    }
  }
`);

type Token = AccessTokensQuery["accessTokens"]["nodes"][number];

const hasEnded = ({ revokedAt, expiresAt }: Token) =>
  revokedAt != null || (expiresAt != null && new Date(expiresAt).getTime() <= Date.now());

export function Tokens() {
  const { after, dialog } = route.useSearch();
  const { session } = shellRoute.useRouteContext();
  const navigate = route.useNavigate();
  const result = useData(AccessTokens, { after: after ?? null });
  const revoke = useSave(RevokeToken);
  const [ending, setEnding] = useState<Token | null>(null);
  const toast = useToast();
  const setDialog = (next: string | undefined) =>
    void navigate({ search: (now) => ({ ...now, dialog: next }), replace: true });
  const confirm = async () => {
    if (!ending || !(await revoke.run({ id: ending.id }))) return;
    toast(`${ending.name} is revoked`);
    setEnding(null);
  };
  return (
    <Page
      title="Access tokens"
      about="What programs and people sign in with. A revoked token ends within a second, with all its sessions."
      actions={
        <Button kind="primary" icon="plus" onClick={() => setDialog("new")}>
          New token
        </Button>
      }
    >
      <Loaded result={result}>
        {({ accessTokens: { nodes, pageInfo } }) => (
          <>
            <Table
              label="Access tokens"
              columns={columnsOf(session.tokenId, setEnding)}
              rows={nodes}
              keyOf={({ id }) => id}
            />
            <PageLinks after={after} pageInfo={pageInfo} />
            <Sessions />
          </>
        )}
      </Loaded>
      {dialog === "new" && <NewToken allowed={session.scopes} onClose={() => setDialog(undefined)} />}
      {ending && (
        <Confirm
          title={`Revoke ${ending.name}?`}
          verb="Revoke"
          error={revoke.error}
          isRunning={revoke.isRunning}
          onConfirm={() => void confirm()}
          onClose={() => setEnding(null)}
        >
          {ending.id === session.tokenId
            ? "You are signed in with it: this ends your session, too."
            : "What uses it is refused from now on. This cannot be taken back."}
        </Confirm>
      )}
    </Page>
  );
}

function columnsOf(ownId: string, onRevoke: (token: Token) => void): Column<Token>[] {
  return [
    {
      name: "Token",
      isWide: true,
      cell: ({ id, name }) => (
        <>
          {name} {id === ownId && <Badge tone="accent">this session</Badge>}
        </>
      ),
    },
    {
      name: "Scopes",
      isOptional: true,
      cell: ({ scopes }) => (
        <span className={table.line}>{scopes.map((scope) => scope.toLowerCase()).join(", ")}</span>
      ),
    },
    { name: "Made", isOptional: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      name: "Last used",
      isOptional: true,
      cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : "never"),
    },
    {
      name: "Ends",
      isOptional: true,
      cell: ({ expiresAt }) => (expiresAt ? <Time at={expiresAt} /> : "never"),
    },
    {
      name: "State",
      align: "end",
      cell: (token) =>
        hasEnded(token) ? (
          <Badge tone="bad">{token.revokedAt ? "revoked" : "expired"}</Badge>
        ) : (
          <Button kind="danger" size="small" onClick={() => onRevoke(token)}>
            Revoke
          </Button>
        ),
    },
  ];
}
