import { Link } from "@tanstack/react-router";
import type { UsagePartsFragment } from "../../gql/graphql.ts";
import { readFragment } from "../../gql/index.ts";
import { Badge, TagBadge } from "../../parts/Badge.tsx";
import { costSources } from "../../parts/costSources.ts";
import { type Fact, Facts } from "../../parts/Facts.tsx";
import { formatCost, formatCount, formatLatency } from "../../parts/format.ts";
import { Time } from "../../parts/Time.tsx";
import { type StepDetails, UsageParts } from "./queries.ts";
import { stepTypes } from "./stepTypes.ts";

const parts: [keyof Omit<UsagePartsFragment, "__typename" | " $fragmentName">, string][] = [
  ["inputTokens", "in"],
  ["cacheReadTokens", "from a cache"],
  ["cacheWriteTokens", "to a cache"],
  ["outputTokens", "out"],
  ["reasoningTokens", "reasoning"],
];

export function StepFacts({ step }: { step: StepDetails }) {
  return <Facts facts={[...ownFacts(step), ...usageFacts(step)]} />;
}

function ownFacts(step: StepDetails): Fact[] {
  const { type, status, startTime, durationMs, timeToFirstTokenMs, prompt, version, tag, model } = step;
  return [
    { name: "Type", value: stepTypes[type].words },
    status && {
      name: "Status",
      value: <Badge tone={status === "ERROR" ? "bad" : "good"}>{status.toLowerCase()}</Badge>,
    },
    { name: "Start", value: <Time at={startTime} as="clock" /> },
    { name: "Duration", value: formatLatency(durationMs) },
    timeToFirstTokenMs != null && { name: "First token after", value: formatLatency(timeToFirstTokenMs) },
    step.missingParent && { name: "Parent", value: "did not come" },
    prompt && {
      name: "Prompt",
      value: (
        <Link to="/prompts/$slug" params={{ slug: prompt.slug }} search={{ version: version ?? undefined }}>
          {prompt.slug} {version}
        </Link>
      ),
    },
    tag && { name: "Tag", value: <TagBadge label={tag} /> },
    model && { name: "Model", value: model },
  ].filter((fact) => fact != null && fact !== false && fact !== "");
}

function usageFacts({ usage, reportedUsage, cost, costSource, subtree }: StepDetails): Fact[] {
  const own = usageText(readFragment(UsageParts, usage));
  const reported = reportedUsage && usageText(readFragment(UsageParts, reportedUsage));
  return [
    own && { name: "Tokens", value: own },
    reported && { name: "Tokens reported, counted below", value: reported },
    costSource !== "NONE" && { name: "Cost", value: `${formatCost(cost)}, ${costSources[costSource]}` },
    subtree &&
      subtree.logs > 1 && {
        name: `With the ${formatCount(subtree.logs - 1)} below`,
        value: `${formatCost(subtree.cost)}, ${formatCount(subtree.inputTokens)} tokens in, ${formatCount(subtree.outputTokens)} out`,
      },
  ].filter((fact) => fact != null && fact !== false && fact !== "");
}

function usageText(usage: UsagePartsFragment): string {
  return parts
    .flatMap(([key, words]) => (usage[key] ? [`${formatCount(usage[key])} ${words}`] : []))
    .join(", ");
}
