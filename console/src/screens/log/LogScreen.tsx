import { getRouteApi, Link } from "@tanstack/react-router";
import { useData } from "../../data.ts";
import type { LogDetailQuery } from "../../gql/graphql.ts";
import { graphql } from "../../gql/index.ts";
import { TagBadge } from "../../parts/Badge.tsx";
import { Button } from "../../parts/Button.tsx";
import { CopyButton } from "../../parts/CopyButton.tsx";
import { costSources } from "../../parts/costSources.ts";
import { type Fact, Facts } from "../../parts/Facts.tsx";
import { formatCost, formatCount, formatLatency } from "../../parts/format.ts";
import { Icon } from "../../parts/Icon.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { Card, Page } from "../../parts/Page.tsx";
import { Time } from "../../parts/Time.tsx";
import { Value } from "../../parts/Value.tsx";
import { AddToDataset } from "./AddToDataset.tsx";
import styles from "./Log.module.css";

const route = getRouteApi("/shell/logs/$id");

const LogDetail = graphql(`
  query LogDetail($id: ID!) {
    log(id: $id) {
      id
      startTime
      endTime
      latencyMs
      input
      output
      idealOutput
      metadata
      variables {
        label
        value
      }
      version
      tag
      model
      inputTokens
      outputTokens
      totalTokens
      cost
      costSource
      prompt {
        id
        slug
        name
      }
      trace {
        id
        name
        user {
          id
          name
        }
        organization {
          id
          name
        }
      }
    }
  }
`);

type Log = NonNullable<LogDetailQuery["log"]>;

export function LogScreen() {
  const { id } = route.useParams();
  const result = useData(LogDetail, { id }, { isExact: true });
  return <Loaded result={result}>{({ log }) => log && <LogPage key={id} log={log} />}</Loaded>;
}

function LogPage({ log }: { log: Log }) {
  const { dialog } = route.useSearch();
  const navigate = route.useNavigate();
  const setDialog = (next: string | undefined) => void navigate({ search: { dialog: next }, replace: true });
  const title = `${log.prompt?.name ?? log.trace.name}`;
  return (
    <Page
      title={title}
      back={
        <Link to="/logs">
          <Icon name="back" size={13} /> Logs
        </Link>
      }
      about={<Time at={log.startTime} as="clock" />}
      actions={
        <>
          <CopyButton text={log.id} label="Copy the id" />
          <Button icon="datasets" onClick={() => setDialog("dataset")}>
            Add to dataset…
          </Button>
        </>
      }
    >
      <Card>
        <Facts facts={factsOf(log)} />
      </Card>
      <div className={styles.columns}>
        <Value title="Input" value={log.input} />
        <Value title="Output" value={log.output} />
      </div>
      <div className={styles.columns}>
        {log.variables && log.variables.length > 0 && (
          <Card title="Variables">
            <Facts facts={log.variables.map(({ label, value }) => ({ name: label, value: value ?? "–" }))} />
          </Card>
        )}
        {log.idealOutput != null && <Value title="Ideal output" value={log.idealOutput} />}
        {log.metadata && <Value title="Metadata" value={log.metadata} />}
      </div>
      {dialog === "dataset" && <AddToDataset logId={log.id} onClose={() => setDialog(undefined)} />}
    </Page>
  );
}

function factsOf(log: Log): Fact[] {
  const { id, prompt, version, tag, model, trace } = log;
  return [
    {
      name: "Trace",
      value: (
        <Link to="/traces/$id" params={{ id: trace.id }} search={{ step: id }}>
          {trace.name}
        </Link>
      ),
    },
    prompt && {
      name: "Prompt",
      value: (
        <Link to="/prompts/$slug" params={{ slug: prompt.slug }} search={{ version: version ?? undefined }}>
          {prompt.slug} {version}
        </Link>
      ),
    },
    tag && { name: "Tag", value: <TagBadge label={tag} /> },
    { name: "Model", value: model ?? "–" },
    { name: "Latency", value: formatLatency(log.latencyMs) },
    { name: "Tokens in", value: log.inputTokens == null ? "–" : formatCount(log.inputTokens) },
    { name: "Tokens out", value: log.outputTokens == null ? "–" : formatCount(log.outputTokens) },
    { name: "Cost", value: <span title={costSources[log.costSource]}>{formatCost(log.cost)}</span> },
    trace.user && {
      name: "User",
      value: (
        <Link to="/logs" search={{ user: trace.user.id }}>
          {trace.user.name ?? trace.user.id}
        </Link>
      ),
    },
    trace.organization && { name: "Organization", value: trace.organization.name ?? trace.organization.id },
  ].filter((fact) => fact != null && fact !== "");
}
