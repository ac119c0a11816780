import { expect, test } from "vitest";
import { fixture, importing } from "../support/imports.ts";

const at = importing("langsmith");

const importAll = () => at.importFrom(fixture("langsmith"));

test("commits become versions in the order of their times, in the formats of LangChain", async () => {
  const { counts, refusals, leftOut } = await importAll();
  expect(counts).toMatchObject({ prompts: { added: 3 }, versions: { added: 4 }, tags: { added: 1 } });
  expect(refusals).toEqual([
    expect.stringContaining('prompt "format": line 1 of its text: {price:.2f} is no plain variable'),
  ]);
  expect(leftOut).toEqual({ "escaping for HTML, as LangChain for Python does it in Mustache": 1 });
  const { prompt } = await at.graphql(
    '{ prompt(slug: "support") { versions(first: 5) { nodes { version } } latest { messages { role content placeholder } } } }',
  );
  expect(prompt.versions.nodes).toEqual([{ version: "aaaa1111" }, { version: "bbbb2222" }]);
  expect(prompt.latest.messages).toEqual([
    { role: "system", content: "Be kind to {{ user }}. Use {json}.", placeholder: null },
    { role: null, content: null, placeholder: "history" },
    { role: "user", content: "{{ question }}", placeholder: null },
    { role: "assistant", content: "ok", placeholder: null },
  ]);
  const { body } = await at.server.request("GET", "/prompts/support?tag=production");
  expect(body.prompt.version).toBe("bbbb2222");
  const { renderPrompt } = await at.graphql(
    '{ renderPrompt(slug: "jinja", tag: "latest", variables: [{ label: "name", value: "Ada" }]) { text } }',
  );
  expect(renderPrompt.text).toBe("Ada\n\nx\n");
});

test("the model that a prompt is piped into is the model of its version, also where tools are bound to it", async () => {
  const prompt = { id: ["prompts", "PromptTemplate"], kwargs: { template: "Hi {name}" } };
  const secret = { lc: 1, type: "secret", id: ["OPENAI_API_KEY"] };
  const model = {
    id: ["chat_models", "openai", "ChatOpenAI"],
    kwargs: { model_name: "gpt-4o-mini", temperature: 0, openai_api_key: secret },
  };
  const bound = { id: ["runnables", "RunnableBinding"], kwargs: { bound: model, kwargs: { tools: [] } } };
  const sequenceOf = (last: object) => ({
    id: ["runnables", "RunnableSequence"],
    kwargs: { first: prompt, last },
  });
  const path = await at.write(
    "prompts.jsonl",
    { repo: "plain", commit_hash: "aaaa1111", manifest: sequenceOf(model) },
    { repo: "bound", commit_hash: "bbbb2222", manifest: sequenceOf(bound) },
  );
  expect(await at.importFrom(path)).toMatchObject({ counts: { versions: { added: 2 } }, refusals: [] });
  const latest = "latest { text model { provider model parameters } }";
  const found = await at.graphql(
    `{ plain: prompt(slug: "plain") { ${latest} } bound: prompt(slug: "bound") { ${latest} } }`,
  );
  const expected = { provider: "openai", model: "gpt-4o-mini", parameters: { temperature: 0 } };
  for (const slug of ["plain", "bound"])
    expect(found[slug].latest).toEqual({ text: "Hi {{ name }}", model: expected });
});

test("examples become rows, those without an id under a key of their content", async () => {
  await importAll();
  const { dataset } = await at.graphql(
    '{ dataset(slug: "capitals") { name rows(first: 9) { nodes { key values idealOutput metadata } } } }',
  );
  expect(dataset.name).toBe("Capitals");
  expect(dataset.rows.nodes).toMatchObject([
    {
      key: "e1e1e1e1-0000-4000-8000-000000000001",
      values: { question: "Kenya?" },
      idealOutput: "Nairobi",
      metadata: { dataset_split: ["base"], source: { outputKey: "answer" } },
    },
    { key: expect.stringMatching(/^[\da-f]{32}$/), idealOutput: '{"answer":"Lima","sure":true}' },
  ]);
});

test("runs become traces, with a step for each kind of feedback", async () => {
  await importAll();
  const { traces } = await at.graphql(`{ traces(first: 9) { nodes { name externalId sessionId
    logs(first: 9) { nodes { name type depth status statusMessage input output model inputTokens outputTokens
      cost latencyMs metadata } } } } }`);
  expect(traces.nodes).toHaveLength(1);
  const [answer] = traces.nodes;
  expect(answer).toMatchObject({
    name: "answer",
    sessionId: "s1",
    externalId: expect.stringMatching(/^[\da-f]{32}$/),
  });
  expect(answer.logs.nodes).toMatchObject([
    {
      name: "answer",
      type: "SPAN",
      depth: 0,
      output: { answer: "Nairobi" },
      latencyMs: 1000,
      metadata: { tier: "gold" },
    },
    { name: "correctness", type: "EVALUATOR", depth: 1, output: { n: 1, avg: 1 } },
    {
      name: "ChatOpenAI",
      type: "GENERATION",
      depth: 1,
      model: "gpt-4o-mini",
      inputTokens: 12,
      outputTokens: 3,
      cost: 0.0000036,
    },
    { name: "search", type: "TOOL", depth: 1, status: "ERROR", statusMessage: "ValueError('no net')" },
  ]);
});

test("a whole number that JavaScript cannot hold is kept digit by digit, also in a text of JSON", async () => {
  const extra = '{"metadata":{"tweet":1234567890123456789}}';
  const start_time = "2026-10-01T12:00:00Z";
  await at.importFrom(await at.write("runs.jsonl", { id: "r", run_type: "chain", start_time, extra }));
  const { traces } = await at.graphql(
    "{ traces(first: 1) { nodes { logs(first: 1) { nodes { metadata } } } } }",
  );
  expect(traces.nodes[0].logs.nodes[0].metadata).toEqual({ tweet: "1234567890123456789" });
});
