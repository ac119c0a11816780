import { afterAll, beforeAll, expect, test } from "vitest";
import { mapSpan } from "../../src/logs/otlp/mapping.ts";
import type { OtlpSpan } from "../../src/logs/otlp/span.ts";
import { recordSpans } from "../../src/logs/spans.resolvers.ts";
import { commandLineContext } from "../../src/workspaces/resolvers.ts";
import { addWorkspace } from "../support/data.ts";
import { type OtlpFixture, readOtlpFixtures, toOtlpSpan } from "../support/otlpFixtures.ts";
import { type Server, startServer } from "../support/server.ts";

const unsaid = toOtlpSpan({});
const fixtures = await readOtlpFixtures();

let server: Server;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server[Symbol.asyncDispose]());

const TRACES = `{ traces(first: 50) { nodes {
  cost
  usage { inputTokens cacheReadTokens cacheWriteTokens outputTokens reasoningTokens }
  logs(first: 100) { nodes { type cost } }
} } }`;

interface Trace {
  cost: number;
  usage: Record<`${"input" | "cacheRead" | "cacheWrite" | "output" | "reasoning"}Tokens`, number>;
  logs: { nodes: { type: string; cost: number | null }[] };
}

test.each(fixtures)(
  "the traces of $name have the tokens that its calls of models used, each once, and their cost",
  async (fixture) => {
    const { id, token } = await addWorkspace(server, fixture.name);
    await recordSpans(commandLineContext(server.database, id), distinctSpans(fixture).map(mapSpan));
    const { body } = await server.graphql(TRACES, {}, { token });
    const traces: Trace[] = body.data.traces.nodes;
    expect({
      inputTokens: sum(
        traces.map(({ usage }) => usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens),
      ),
      outputTokens: sum(traces.map(({ usage }) => usage.outputTokens + usage.reasoningTokens)),
    }).toEqual(fixture.usage);
    for (const { cost, logs } of traces) {
      const calls = logs.nodes.filter(({ type }) => type === "GENERATION" || type === "EMBEDDING");
      expect(cost).toBeCloseTo(sum(calls.map((call) => call.cost ?? 0)), 9);
    }
  },
);

/** Spans with ids of their own, as real ones have: those written by hand have one span id, and some answers share an id. */
function distinctSpans({ answersShareId, spans }: OtlpFixture): OtlpSpan[] {
  return spans.map((span, n) => ({
    ...span,
    ...(span.spanId === unsaid.spanId && { spanId: n.toString(16).padStart(16, "0") }),
    attributes: answersShareId ? withOwnId(span.attributes, n) : span.attributes,
  }));
}

function withOwnId(attributes: OtlpSpan["attributes"], n: number): OtlpSpan["attributes"] {
  const id = attributes["gen_ai.response.id"];
  return id === undefined ? attributes : { ...attributes, "gen_ai.response.id": `${id}-${n}` };
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
