import { useState } from "react";
import { useData } from "../../data.ts";
import { graphql } from "../../gql/index.ts";
import { Facts } from "../../parts/Facts.tsx";
import { formatCost, formatCount } from "../../parts/format.ts";
import { Card } from "../../parts/Page.tsx";
import { estimateChange } from "./estimate.ts";
import type { Rendering } from "./useImpact.ts";

const ImpactUsage = graphql(`
  query ImpactUsage($slug: String!, $from: DateTime!, $to: DateTime!) {
    usage(slug: $slug, from: $from, to: $to) {
      nodes {
        logs
      }
    }
  }
`);

const DAYS = 7;
const DAY_MS = 86_400_000;

const lastDays = () => {
  const now = Date.now();
  return { from: new Date(now - DAYS * DAY_MS).toISOString(), to: new Date(now).toISOString() };
};

/** What the other version would change in tokens and cost a day, and how that is estimated; nothing before all is rendered. */
export function ImpactADay({ slug, renderings }: { slug: string; renderings: Rendering[] }) {
  const [period] = useState(lastDays);
  const { data } = useData(ImpactUsage, { slug, ...period });
  const estimate = estimateChange(
    renderings.map(({ usage, before, after }) => ({
      model: usage.model ?? null,
      inputTokens: usage.inputTokens ?? null,
      outputTokens: usage.outputTokens ?? null,
      cost: usage.cost ?? null,
      charactersBefore: before.length,
      charactersAfter: after.length,
    })),
  );
  if (!estimate || !data) return null;
  const calls = (data.usage.nodes[0]?.logs ?? 0) / DAYS;
  const { tokens, cost } = estimate;
  return (
    <Card title="A day">
      <Facts
        facts={[
          { name: "Calls a day", value: calls.toLocaleString("en", { maximumFractionDigits: 1 }) },
          { name: "Tokens a day", value: signed(tokens * calls, (value) => formatCount(Math.round(value))) },
          { name: "Cost a day", value: cost === null ? "not known" : signed(cost * calls, formatCost) },
        ]}
      />
      <p>
        An estimate: the input tokens of each of these calls grow or shrink as its characters do, its output
        stays as long, and there are as many calls as in the last {DAYS} days.{" "}
        {cost === null
          ? "What a token of input costs does not follow from the tokens and costs of these calls."
          : "What a token of input costs follows from the tokens and costs of these calls."}
      </p>
    </Card>
  );
}

const signed = (value: number, format: (value: number) => string): string =>
  value === 0 ? format(0) : `${value > 0 ? "+" : "−"}${format(Math.abs(value))}`;
