import { expect, test } from "vitest";
import { fixture, importing } from "../support/imports.ts";

const at = importing("braintrust");

const importAll = () => at.importFrom(fixture("braintrust"));

test("the versions of prompts arrive in order, in the formats of Braintrust", async () => {
  const { counts, refusals, leftOut } = await importAll();
  expect(counts).toMatchObject({ prompts: { added: 2 }, versions: { added: 3 } });
  expect(refusals).toEqual([
    expect.stringContaining('prompt "loop": line 1 of its text: {{#items}} is a section'),
  ]);
  expect(leftOut).toEqual({ "tags of prompts": 1 });
  const { body } = await at.server.request("GET", "/prompts/support-reply?version=1000192656880881099");
  expect(body.prompt).toMatchObject({
    systemText: "Be kind.",
    text: "{{input.question}}",
    model: { model: "gpt-4o-mini", parameters: { temperature: 0.1 } },
  });
  const { prompt } = await at.graphql(
    '{ prompt(slug: "support-reply") { versions(first: 5) { nodes { version } } } }',
  );
  expect(prompt.versions.nodes.map(({ version }: { version: string }) => version)).toEqual([
    "1000192656880881088",
    "1000192656880881099",
  ]);
  const { renderPrompt } = await at.graphql(
    '{ renderPrompt(slug: "nunjucks", tag: "latest", variables: [{ label: "name", value: "Ada" }]) { text } }',
  );
  expect(renderPrompt.text).toBe("\nHi Ada\n\n"); // what nunjucks 3.2.4 renders
});

test("a whole number of the tools that JavaScript cannot hold is kept digit by digit", async () => {
  const prompt = { type: "completion", content: "Hi", tools: '[{"seed":1234567890123456789}]' };
  const prompt_data = { prompt, options: { model: "m" } };
  const path = await at.write("prompts.jsonl", {
    id: "p",
    name: "Seeded",
    slug: "seeded",
    _xact_id: "1",
    prompt_data,
  });
  await at.importFrom(path);
  const { body } = await at.server.request("GET", "/prompts/seeded?tag=latest");
  expect(body.prompt.model.parameters.tools).toEqual([{ seed: "1234567890123456789" }]);
});

test("rows go to the dataset that their id names", async () => {
  await importAll();
  const { body } = await at.server.request("GET", "/datasets/capitals");
  expect(body.dataset).toMatchObject({
    name: "Capitals",
    rows: [
      { values: { question: "Kenya?" }, idealOutput: "Nairobi", metadata: { n: 1 } },
      {
        values: { input: "Peru?" },
        idealOutput: '{"answer":"Lima"}',
        metadata: { source: { tags: ["hard"] } },
      },
    ],
  });
});

test("logs become traces, with a step for each score", async () => {
  await importAll();
  const { traces } = await at.graphql(`{ traces(first: 9) { nodes { name
    logs(first: 9) { nodes { name type depth status statusMessage input output model inputTokens outputTokens
      timeToFirstTokenMs metadata } } } } }`);
  const answer = traces.nodes.find(({ name }: { name: string }) => name === "answer");
  expect(answer.logs.nodes).toMatchObject([
    {
      name: "answer",
      type: "SPAN",
      depth: 0,
      input: { question: "Capital of Kenya?" },
      output: "Nairobi",
      metadata: { tier: "gold" },
    },
    { type: "EVALUATOR", depth: 1 },
    { type: "EVALUATOR", depth: 1 },
    {
      name: "Chat Completion",
      type: "GENERATION",
      depth: 1,
      model: "gpt-4o-mini",
      inputTokens: 12,
      outputTokens: 3,
      timeToFirstTokenMs: 250,
    },
  ]);
  const scores = answer.logs.nodes
    .slice(1, 3)
    .map(({ name, output }: { name: string; output: unknown }) => [name, output]);
  expect(Object.fromEntries(scores)).toEqual({ correct: { score: 1 }, style: { score: 0.5 } });
  const search = traces.nodes.find(({ name }: { name: string }) => name === "search");
  expect(search.logs.nodes).toMatchObject([
    { type: "TOOL", status: "ERROR", statusMessage: "ValueError: no net", input: "x" },
  ]);
});
