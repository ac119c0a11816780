import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useData } from "../../data.ts";
import { CopyButton } from "../../parts/CopyButton.tsx";
import { type Fact, Facts } from "../../parts/Facts.tsx";
import { formatCost, formatCount, formatLatency } from "../../parts/format.ts";
import { Icon } from "../../parts/Icon.tsx";
import { Loaded } from "../../parts/Loaded.tsx";
import { ErrorNotice, Warnings } from "../../parts/Notice.tsx";
import { Card, Page } from "../../parts/Page.tsx";
import { Time } from "../../parts/Time.tsx";
import { type TraceFacts, TraceHead } from "./queries.ts";
import { TraceTree } from "./TraceTree.tsx";
import { useSteps } from "./useSteps.ts";

const route = getRouteApi("/shell/traces/$id");

export function TraceScreen() {
  const { id } = route.useParams();
  const result = useData(TraceHead, { id }, { isExact: true });
  return (
    <Loaded result={result}>
      {({ trace }) => trace && <TracePage key={id} trace={trace} onChanged={result.retry} />}
    </Loaded>
  );
}

function TracePage({ trace, onChanged }: { trace: TraceFacts; onChanged: () => void }) {
  const { q } = route.useSearch();
  const [withTexts, setWithTexts] = useState(false);
  if (q && !withTexts) setWithTexts(true); // from the first search on
  const { error, liveError, retry, ...loaded } = useSteps({ id: trace.id, withTexts }, onChanged);
  const { steps, isWhole } = loaded;
  return (
    <Page
      title={trace.name}
      back={
        <Link to="/traces">
          <Icon name="back" size={13} /> Traces
        </Link>
      }
      about={<Time at={trace.startTime} as="clock" />}
      actions={<CopyButton text={trace.externalId ?? trace.id} label="Copy the id" />}
    >
      <Card>
        <Facts facts={factsOf(trace)} />
      </Card>
      {!trace.complete && isWhole && <Warnings warnings={[{ message: incompleteness(steps) }]} />}
      {error && <ErrorNotice error={error} onRetry={retry} />}
      {liveError && <ErrorNotice error={liveError} />}
      {!isWhole && !error && (
        <p role="status">
          {formatCount(steps.length)} of {formatCount(trace.logCount)} steps are here; the others follow.
        </p>
      )}
      <TraceTree traceId={trace.id} {...loaded} />
    </Page>
  );
}

function incompleteness(steps: readonly { missingParent: boolean }[]): string {
  const orphans = steps.filter(({ missingParent }) => missingParent).length;
  if (orphans === 0) return "Spans are missing: the step at the top has not come. It may still be running.";
  const which = orphans === 1 ? "1 step names a parent" : `${formatCount(orphans)} steps name parents`;
  return `Spans are missing: ${which} that did not come. They may still be running, or were never sent.`;
}

function factsOf(trace: TraceFacts): Fact[] {
  const { usage, unpricedCount, user, organization, sessionId, environment } = trace;
  const tokensIn = (usage.inputTokens ?? 0) + (usage.cacheReadTokens ?? 0) + (usage.cacheWriteTokens ?? 0);
  const tokensOut = (usage.outputTokens ?? 0) + (usage.reasoningTokens ?? 0);
  const cost = formatCost(trace.cost);
  return [
    { name: "Duration", value: formatLatency(trace.durationMs) },
    { name: "Steps", value: formatCount(trace.logCount) },
    { name: "Errors", value: formatCount(trace.errorCount) },
    { name: "Tokens in", value: formatCount(tokensIn) },
    { name: "Tokens out", value: formatCount(tokensOut) },
    {
      name: "Cost",
      value: unpricedCount > 0 ? `${cost}, without ${formatCount(unpricedCount)} of unknown price` : cost,
    },
    user && {
      name: "User",
      value: (
        <Link to="/traces" search={{ user: user.id }}>
          {user.name ?? user.id}
        </Link>
      ),
    },
    organization && { name: "Organization", value: organization.name ?? organization.id },
    sessionId && { name: "Session", value: sessionId },
    environment && { name: "Environment", value: environment },
  ].filter((fact) => fact != null && fact !== "");
}
