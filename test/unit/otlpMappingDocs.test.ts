import { expect, test } from "vitest";
import { mappingTable, promptSources, typeSources } from "../../src/logs/otlp/mappingTable.ts";
import type { Source } from "../../src/logs/otlp/source.ts";
import { readPage } from "../support/snippets.ts";

const conditions = {
  root: "of a root",
  agent: "of an agent",
  tool: "of a tool",
  function: "of a function",
  modelCall: "of a call of a model",
  outer: "of an operation",
};

/** How the page writes a source. */
function written(source: Source): string {
  const words = source.for ? ` (${conditions[source.for]})` : "";
  if ("resource" in source) return `\`${source.resource}\` of the resource`;
  if ("list" in source) return `\`${source.list}.N.*\``;
  if ("below" in source) return `\`${source.below}*\``;
  if ("events" in source) return `events ${source.events.map((name) => `\`${name}\``).join(", ")}`;
  if ("event" in source) return `\`${source.attribute}\` of the event \`${source.event}\``;
  if ("parts" in source)
    return Object.values(source.parts)
      .map((key) => `\`${key}\``)
      .join(" and ");
  if ("instructions" in source) return `\`${source.instructions}\` and \`${source.messages}\``;
  if ("member" in source) return `\`${source.member}\` in \`${source.attribute}\``;
  return `\`${source.attribute}\`${words}`;
}

test("docs/opentelemetry.md lists the sources of every field in their order", async () => {
  const row = (name: string, sources: string[]) => `| \`${name}\` | ${sources.join("; ")} |`;
  const types = typeSources.map((source) =>
    "word" in source ? `\`${source.word}\`` : `any \`${source.present}\`: ${source.type}`,
  );
  const prompts = (part: "slug" | "version" | "tag") =>
    promptSources.flatMap((source) => (source[part] ? [`\`${source[part]}\``] : []));
  const rows = [
    row("type", types),
    row("promptSlug", prompts("slug")),
    row("version", prompts("version")),
    row("tag", prompts("tag")),
    ...Object.entries(mappingTable).map(([name, { from }]) => row(name, from.map(written))),
  ];
  const page = await readPage("docs/opentelemetry.md");
  const table = page.slice(page.indexOf("| Field |")).trim().split("\n").slice(2);
  expect(table).toEqual(rows);
});
