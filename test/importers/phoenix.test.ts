import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { openFolder } from "../support/commandLine.ts";
import { fixture, importing } from "../support/imports.ts";

const at = importing("phoenix");

const importFile = () => at.importFrom(fixture("phoenix/phoenix.db"));

test("prompts of all formats arrive with their tags; sections are refused", async () => {
  const { counts, refusals } = await importFile();
  expect(counts).toMatchObject({ prompts: { added: 3 }, versions: { added: 4 }, tags: { added: 1 } });
  expect(refusals).toEqual([
    expect.stringMatching(
      /^line 5: prompt "sections": message 1: line 2 of its text: \{\{#list\}\} is a section/,
    ),
  ]);
  const { body } = await at.server.request("GET", "/prompts/support?tag=production");
  expect(body.prompt).toMatchObject({
    version: "2",
    systemText: "Be very kind.",
    text: "{{question}}",
    model: { provider: "openai", model: "gpt-4o-mini" },
  });
  const rendered = async (slug: string, variables: object[]) => {
    const query = `{ renderPrompt(slug: "${slug}", tag: "latest", variables: ${JSON.stringify(variables).replaceAll(/"(\w+)":/g, "$1:")}) { text } }`;
    return (await at.graphql(query)).renderPrompt.text;
  };
  expect(await rendered("formatted", [{ label: "movie", value: "Alien" }])).toBe("Rate Alien as {json}");
  expect(await rendered("plain", [])).toBe("No {{variables}} here");
});

test("the examples of a dataset are its rows, as the newest version has them", async () => {
  await importFile();
  const { body } = await at.server.request("GET", "/datasets/capitals");
  expect(body.dataset).toMatchObject({
    name: "Capitals",
    columns: [{ name: "question", type: "text" }],
    rows: [
      {
        values: { question: "Kenya?" },
        idealOutput: "Nairobi",
        metadata: { n: 1, source: { outputKey: "answer" } },
      },
      { values: { question: "Peru?" }, idealOutput: "Lima" },
      { values: { question: "France?" }, idealOutput: "Paris" },
    ],
  });
});

test("spans and annotations become traces, as if OpenInference had sent them here", async () => {
  await importFile();
  const { traces } = await at.graphql(`{ traces(first: 9) { nodes { name sessionId user { id } externalId
    logs(first: 9) { nodes { name type depth status statusMessage input output model inputTokens outputTokens metadata
      events { name } } } } } }`);
  const answer = traces.nodes.find(({ name }: { name: string }) => name === "answer");
  expect(answer).toMatchObject({
    externalId: "8a162280077caadef0bf1f95676ffd66",
    sessionId: "s1",
    user: { id: "u1" },
  });
  expect(answer.logs.nodes).toMatchObject([
    { name: "answer", type: "SPAN", depth: 0, input: "Capital of Kenya?", output: "Nairobi" },
    {
      name: "llm",
      type: "GENERATION",
      depth: 1,
      model: "gpt-4o-mini",
      input: [{ role: "user", content: "Capital of Kenya?" }],
      output: [{ role: "assistant", content: "Nairobi" }],
      inputTokens: 12,
      outputTokens: 3,
      metadata: { tier: "gold" },
      events: [{ name: "first token" }],
    },
    {
      name: "correctness",
      type: "EVALUATOR",
      depth: 1,
      output: { score: 1, label: "right", explanation: "it is" },
    },
  ]);
  const broken = traces.nodes.find(({ name }: { name: string }) => name === "broken");
  expect(broken.logs.nodes).toMatchObject([
    { type: "TOOL", status: "ERROR", statusMessage: "no net", events: [{ name: "exception" }] },
  ]);
});

test("whole numbers that JavaScript cannot hold are kept digit by digit, as texts", async () => {
  const path = join(at.folder, "phoenix.db");
  await copyFile(fixture("phoenix/phoenix.db"), path);
  const file = new Database(path);
  const number = "1234567890123456789";
  file.exec(`update dataset_example_revisions set input = '{"tweet": ${number}}';
    update prompt_versions set invocation_parameters = '{"type": "openai", "openai": {"seed": ${number}}}';
    update spans set attributes = '{"metadata": {"tweet": ${number}}}'`);
  file.close();
  await at.importFrom(path);
  const { body } = await at.server.request("GET", "/datasets/capitals");
  expect(body.dataset.rows[0].values).toEqual({ tweet: number });
  const { prompt, traces } = await at.graphql(
    '{ prompt(slug: "support") { latest { model { parameters } } } traces(first: 1) { nodes { logs(first: 1) { nodes { metadata } } } } }',
  );
  expect(prompt.latest.model.parameters).toEqual({ seed: number });
  expect(traces.nodes[0].logs.nodes[0].metadata).toEqual({ tweet: number });
});

test("an error in the middle reports, and keeps, what was read before it", async () => {
  const folder = await openFolder();
  await copyFile(fixture("phoenix/phoenix.db"), folder.path("phoenix.db"));
  const file = new Database(folder.path("phoenix.db"));
  file.exec("alter table span_annotations rename column span_rowid to renamed");
  file.close();
  const { code, stdout, stderr } = await folder.gabbro("import", "phoenix", "phoenix.db");
  expect(code).toBe(1);
  expect(stdout).toContain("rows: 3 added, 0 changed, 0 unchanged\nspans: 3 added");
  expect(stderr).toContain("no such column");
  const { database } = await folder.contextOf();
  for (const [table, count] of [
    ["dataset_rows", 3],
    ["logs", 3],
  ] as const)
    expect(await database.orm.em.fork().execute(`select 1 from ${table}`)).toHaveLength(count);
  await folder.close();
});

test("a file that is not Phoenix's is refused as a whole", async () => {
  await expect(at.importFrom(fixture("python.json"))).rejects.toThrow("cannot be read as an SQLite file");
});
