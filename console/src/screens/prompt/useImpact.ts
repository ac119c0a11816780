import { useEffect, useState } from "react";
import { type Client, type CombinedError, useClient } from "urql";
import type { ImpactLogsQuery, ImpactRenderQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";

const ImpactLogs = graphql(`
  query ImpactLogs($slug: String!) {
    logs(filter: { slug: [$slug] }, first: 50) {
      nodes {
        id
        startTime
        model
        inputTokens
        outputTokens
        cost
        variables {
          label
          value
        }
      }
    }
  }
`);

const ImpactRender = graphql(`
  query ImpactRender($slug: String!, $from: String!, $to: String!, $variables: [PromptVariableValue!]!) {
    before: renderPrompt(slug: $slug, version: $from, variables: $variables) {
      systemText
      text
    }
    after: renderPrompt(slug: $slug, version: $to, variables: $variables) {
      systemText
      text
      warnings {
        code
        message
      }
    }
  }
`);

/** As many logs as are looked at, and renderings that are asked for at once. */
const MAX_LOGS = 25;
const CONCURRENCY = 4;

/** What one version makes of the variables of a log, and what another one makes of them. */
export interface Rendering {
  logId: string;
  startTime: string;
  usage: Pick<LoggedCall, "model" | "inputTokens" | "outputTokens" | "cost">;
  before: string;
  after: string;
  /** What the other version lacks, as a sentence; null when it has all values. */
  missing: string | null;
}

export interface Impact {
  renderings: Rendering[];
  /** How many logs are rendered; null until they are known. */
  total: number | null;
  error: CombinedError | undefined;
}

const NOTHING: Impact = { renderings: [], total: null, error: undefined };

type LoggedCall = ImpactLogsQuery["logs"]["nodes"][number];

interface Versions {
  slug: string;
  from: string;
  to: string;
}

/** Renders the variables of the latest logs with both versions; no model is called. */
export function useImpact({ slug, from, to }: Versions): Impact {
  const client = useClient();
  const [impact, setImpact] = useState(NOTHING);
  useEffect(() => {
    let isCurrent = true;
    const report = (change: (now: Impact) => Impact) => isCurrent && setImpact(change);
    const run = async () => {
      const found = await client
        .query<ImpactLogsQuery>(String(ImpactLogs), { slug }, { requestPolicy: "network-only" })
        .toPromise();
      const calls = (found.data?.logs.nodes ?? [])
        .filter(({ variables }) => variables?.length)
        .slice(0, MAX_LOGS);
      report(() => ({ renderings: [], total: found.error ? null : calls.length, error: found.error }));
      const rest = calls.values();
      const worker = async () => {
        for (const call of rest) {
          if (!isCurrent) return;
          const result = await render(client, { slug, from, to }, call);
          report((now) =>
            "error" in result
              ? { ...now, error: result.error }
              : { ...now, renderings: [...now.renderings, result] },
          );
        }
      };
      await Promise.all(Array.from({ length: CONCURRENCY }, worker));
    };
    setImpact(NOTHING);
    void run();
    return () => {
      isCurrent = false;
    };
  }, [client, slug, from, to]);
  return impact;
}

async function render(
  client: Client,
  versions: Versions,
  { id, startTime, variables, ...usage }: LoggedCall,
): Promise<Rendering | { error: CombinedError }> {
  const values = (variables ?? []).map(({ label, value }) => ({ label, value: value ?? null }));
  const { data, error } = await client
    .query<ImpactRenderQuery>(String(ImpactRender), { ...versions, variables: values })
    .toPromise();
  if (error) return { error };
  const textOf = (one: { systemText?: string | null; text: string } | null | undefined) =>
    [one?.systemText, one?.text].filter(Boolean).join("\n\n");
  const missing = data?.after?.warnings.find(({ code }) => code === "VALUE_MISSING")?.message ?? null;
  return { logId: id, startTime, usage, before: textOf(data?.before), after: textOf(data?.after), missing };
}
