import { describe, expect, test } from "vitest";
import { mapSpan, toReading } from "../../src/logs/otlp/mapping.ts";
import { mappingTable, promptSources, typeSources } from "../../src/logs/otlp/mappingTable.ts";
import { findPrompt } from "../../src/logs/otlp/prompt.ts";
import { find, findAll } from "../../src/logs/otlp/reading.ts";
import type { Field } from "../../src/logs/otlp/source.ts";
import type { OtlpSpan } from "../../src/logs/otlp/span.ts";
import { findType } from "../../src/logs/otlp/spanType.ts";
import { expectedOf, readOtlpFixtures } from "../support/otlpFixtures.ts";

const fixtures = await readOtlpFixtures();

describe("spans of each sender", () => {
  test.each(fixtures)("of $source become what its golden file shows", async (fixture) => {
    const mapped = `${JSON.stringify(fixture.spans.map(mapSpan), null, 2)}\n`;
    await expect(mapped).toMatchFileSnapshot(expectedOf(fixture));
  });

  test.each(fixtures)(
    "of $source report the tokens that their calls of models used",
    ({ spans, usage, reportedTimes = 1 }) => {
      const calls = spans
        .map(mapSpan)
        .filter(({ log }) => log.type === "generation" || log.type === "embedding");
      const sum = (...counts: (number | null)[]) =>
        counts.reduce<number>((total, count) => total + (count ?? 0), 0);
      expect({
        inputTokens: sum(
          ...calls.map(({ log }) => sum(log.inputTokens, log.cacheReadTokens, log.cacheWriteTokens)),
        ),
        outputTokens: sum(...calls.map(({ log }) => sum(log.outputTokens, log.reasoningTokens))),
      }).toEqual({
        inputTokens: usage.inputTokens * reportedTimes,
        outputTokens: usage.outputTokens * reportedTimes,
      });
    },
  );

  test("cover every source of the mapping", () => {
    const spans = fixtures.flatMap((fixture) => fixture.spans);
    expect(uncoveredBy(spans)).toEqual([]);
  });

  test("would leave a source uncovered without one of them", () => {
    const spans = fixtures
      .filter(({ name }) => name !== "openinference-kinds")
      .flatMap((fixture) => fixture.spans);
    expect(uncoveredBy(spans)).toContain('cost {"attribute":"llm.cost.total"}');
  });
});

/** The sources from which no span takes its value. */
function uncoveredBy(spans: OtlpSpan[]): string[] {
  const covered = new Set(spans.flatMap(sourcesOf));
  const fields = Object.entries(mappingTable).flatMap(([name, { from }]) =>
    from.map((source) => `${name} ${JSON.stringify(source)}`),
  );
  const types = typeSources.map((source) => `type ${JSON.stringify(source)}`);
  const prompts = promptSources.flatMap((source) => Object.values(source).map((key) => `prompt ${key}`));
  return [...fields, ...types, ...prompts].filter((source) => !covered.has(source));
}

/** The sources from which a span takes a value. Metadata takes from all of its sources. */
function sourcesOf(span: OtlpSpan): string[] {
  const reading = toReading(span);
  const fields = Object.entries(mappingTable).flatMap(([name, field]: [string, Field<unknown>]) => {
    const found = name === "metadata" ? findAll(reading, field) : [find(reading, field)];
    return found.flatMap((of) => (of ? [`${name} ${JSON.stringify(of.source)}`] : []));
  });
  const { source } = findType(span.attributes);
  const prompt = Object.values(findPrompt(span.attributes) ?? {}).filter((key) => key in span.attributes);
  return [
    ...fields,
    ...(source ? [`type ${JSON.stringify(source)}`] : []),
    ...prompt.map((key) => `prompt ${key}`),
  ];
}
