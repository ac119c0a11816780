import { expect, test } from "vitest";
import { fixture, importing } from "../support/imports.ts";
import { startServer } from "../support/server.ts";

const at = importing("basalt");

test("prompts arrive with their versions in order, their tags and variables, and rows even if they are equal", async () => {
  const { counts, refusals } = await at.importFrom(fixture("basalt"));
  expect(refusals).toEqual([]);
  expect(counts).toMatchObject({ versions: { added: 2 }, tags: { added: 1 }, rows: { added: 3 } });
  const { body: described } = await at.server.request("GET", "/prompts/guide/describe");
  expect(described.prompt).toEqual({
    slug: "guide",
    name: "Country guide",
    status: "live",
    description: "Says what a country is like.",
    availableVersions: ["1.9.0", "1.10.0"],
    availableTags: ["latest", "production"],
    variables: [{ label: "country", type: "string", description: "Its name." }],
    version: "1.9.0",
    tag: "production",
  });
  const { body: served } = await at.server.request("GET", "/prompts/guide?version=1.10.0");
  expect(served.prompt).toMatchObject({
    text: "What is {{ country }} like?",
    systemText: "Be brief.",
    model: { provider: "open-ai", model: "gpt-4o-mini", parameters: { temperature: 0.2 } },
  });
  const { body: read } = await at.server.request("GET", "/datasets/capitals");
  expect(read.dataset).toMatchObject({
    name: "Capitals",
    columns: [{ name: "country", type: "text" }],
    rows: [
      { values: { country: "Kenya" }, idealOutput: "Nairobi", metadata: { n: 1 } },
      { values: { country: "Peru" } },
      { values: { country: "Peru" } },
    ],
  });
});

test("a row keeps its ideal output, also an empty one and one that is no text", async () => {
  const rows = [
    { values: { n: 1 }, idealOutput: "" },
    { values: { n: 2 }, idealOutput: { city: "Nairobi" } },
  ];
  await at.write("outputs.jsonl", {
    dataset: { slug: "outputs", columns: [{ name: "n", type: "json" }], rows },
  });
  expect((await at.importFrom(at.folder)).refusals).toEqual([]);
  const { body } = await at.server.request("GET", "/datasets/outputs");
  expect(body.dataset.rows.map(({ idealOutput }: { idealOutput: unknown }) => idealOutput)).toEqual([
    "",
    '{"city":"Nairobi"}',
  ]);
});

test("a prompt needs no text beside its messages; one that is only described is refused", async () => {
  const messages = [{ role: "user", content: "Hello {{ name }}" }];
  const answers = [
    { prompts: [{ slug: "chat", name: "Chat", availableVersions: ["1.0.0"], availableTags: [] }] },
    { prompt: { slug: "chat", version: "1.0.0", text: null, systemText: null, messages } },
    { prompt: { slug: "lost", name: "Lost", availableVersions: ["1.0.0"], availableTags: [] } },
  ];
  await at.write("all.jsonl", ...answers);
  const { counts, refusals } = await at.importFrom(at.folder);
  expect(counts).toMatchObject({ prompts: { added: 1 }, versions: { added: 1 } });
  expect(refusals).toEqual(['line 3: prompt "lost" has no text here; save each version as it is served']);
  const { body } = await at.server.request("GET", "/prompts/chat?version=1.0.0");
  expect(body.prompt.text).toBe("Hello {{ name }}");
});

test("what one Gabbro answers another imports, and then answers the same", async () => {
  await using source = await startServer({ sample: true });
  const paths = ["/prompts", "/datasets"];
  const { body: lists } = await source.request("GET", "/prompts");
  for (const { slug, availableVersions, availableTags } of lists.prompts) {
    paths.push(`/prompts/${slug}/describe`);
    for (const version of availableVersions) paths.push(`/prompts/${slug}?version=${version}`);
    for (const tag of availableTags) paths.push(`/prompts/${slug}?tag=${tag}`);
  }
  const { body: heads } = await source.request("GET", "/datasets");
  for (const { slug } of heads.datasets) paths.push(`/datasets/${slug}`);
  const answers = await Promise.all(paths.map(async (path) => (await source.request("GET", path)).body));
  await at.write("all.jsonl", ...answers);
  expect((await at.importFrom(at.folder)).refusals).toEqual([]);
  const withoutIds = (answer: unknown) =>
    JSON.parse(JSON.stringify(answer).replaceAll(/"id":"[^"]*",?/g, ""));
  for (const [n, path] of paths.entries())
    expect([path, withoutIds((await at.server.request("GET", path)).body)]).toEqual([
      path,
      withoutIds(answers[n]),
    ]);
});
