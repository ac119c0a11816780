import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { allRows, fixture, importing } from "../support/imports.ts";

const at = importing("langfuse");

const writePrompts = (...prompts: object[]) =>
  at.write("prompts.jsonl", ...prompts.map((prompt) => ({ type: "text", labels: [], ...prompt })));
const importPrompts = async (...prompts: object[]) => at.importFrom(await writePrompts(...prompts));

test("versions, labels, chats and the texts of references arrive, and what has no place is named", async () => {
  const { counts, refusals, leftOut } = await at.importFrom(fixture("langfuse/prompts.jsonl"));
  expect(counts).toMatchObject({
    prompts: { added: 3 },
    versions: { added: 4 },
    tags: { added: 3 },
  });
  expect(refusals).toEqual([
    expect.stringMatching(
      /^line 4: version 1 of prompt "broken": line 2 of its text: \{\{#list\}\} is a section/,
    ),
  ]);
  expect(leftOut).toEqual({ "commit messages": 1, "tags of prompts (not their labels)": 1 });

  const { body: production } = await at.server.request("GET", "/prompts/movie-critic?tag=production");
  expect(production.prompt).toMatchObject({
    version: "2",
    text: 'You are {{who}}. Rate {{movie}} {{ "{" }}% as it is %}.',
    model: { model: "gpt-4o-mini" },
  });
  const { body: staging } = await at.server.request("GET", "/prompts/movie-critic?tag=staging");
  expect(staging.prompt).toMatchObject({ version: "1", model: { parameters: { temperature: 0.2 } } });
  const { prompt } = await at.graphql(
    '{ prompt(slug: "chat-support") { name latest { messages { role content placeholder } } } }',
  );
  expect(prompt).toEqual({
    name: "chat/support",
    latest: {
      messages: [
        { role: "system", content: "Be kind to {{user}}", placeholder: null },
        { role: null, content: null, placeholder: "history" },
        { role: "user", content: "{{question}}", placeholder: null },
      ],
    },
  });
});

test("versions come in their order, however the file has them", async () => {
  await importPrompts(
    { name: "p", version: 10, prompt: "ten" },
    { name: "p", version: 9, prompt: "nine" },
    { name: "p", version: 2, prompt: "two" },
  );
  const { body } = await at.server.request("GET", "/prompts/p/describe");
  expect(body.prompt.availableVersions).toEqual(["2", "9", "10"]);
});

test.each([
  ["to a prompt that is missing", [], "@@@langfusePrompt:name=gone|version=1@@@", "no such prompt"],
  [
    "to a version that is missing",
    [{ name: "a", version: 1, prompt: "x" }],
    "@@@langfusePrompt:name=a|label=gone@@@",
    "no such version",
  ],
  [
    "that lead back to themselves",
    [{ name: "a", version: 1, prompt: "@@@langfusePrompt:name=p|version=1@@@" }],
    "@@@langfusePrompt:name=a|version=1@@@",
    "leads back to itself",
  ],
  [
    "to a chat",
    [{ name: "a", version: 1, type: "chat", prompt: [{ role: "user", content: "x" }] }],
    "@@@langfusePrompt:name=a|version=1@@@",
    "leads to a chat",
  ],
  [
    "that are many in all",
    ["a", "b", "c"].map((name, at, { [at + 1]: next }) => ({
      ...{ name, version: 1 },
      prompt: next ? `@@@langfusePrompt:name=${next}|version=1@@@`.repeat(11) : "",
    })),
    "@@@langfusePrompt:name=a|version=1@@@".repeat(11),
    "more than 1000 references",
  ],
])("references %s are refused", async (_, others, prompt, reason) => {
  const { refusals } = await importPrompts({ name: "p", version: 1, prompt }, ...others);
  expect(refusals).toContainEqual(
    expect.stringMatching(new RegExp(`^line 1: version 1 of prompt "p": .*${reason}`)),
  );
});

test("a version that is here with another content is refused and stays as it is", async () => {
  await importPrompts({ name: "p", version: 1, prompt: "old" });
  const { refusals, counts } = await importPrompts(
    { name: "p", version: 1, prompt: "new" },
    { name: "p", version: 2, prompt: "two" },
  );
  expect(refusals).toEqual([
    expect.stringMatching(/^line 1: version "1" of prompt "p" exists with other content/),
  ]);
  expect(counts.versions).toEqual({ added: 1, changed: 0, unchanged: 0 });
  const { body } = await at.server.request("GET", "/prompts/p?version=1");
  expect(body.prompt.text).toBe("old");
});

test("a prompt may stand in several files, whatever else these have", async () => {
  const first = { name: "p", version: 1, prompt: "one", labels: ["production"] };
  const second = { name: "p", version: 2, prompt: "two", labels: ["staging"] };
  const item = { id: "i", input: { q: 1 }, expectedOutput: null, datasetName: "d" };
  const lines = (...values: object[]) => values.map((value) => JSON.stringify(value)).join("\n");
  await writeFile(join(at.folder, "1.jsonl"), lines(first));
  await writeFile(join(at.folder, "2.jsonl"), lines(item, first, second));
  const dry = await at.importFrom(at.folder, { run: "dry" });
  expect(dry).toMatchObject({
    counts: { prompts: { added: 1 }, versions: { added: 2, unchanged: 1 }, tags: { added: 2, unchanged: 1 } },
    refusals: [],
  });
  expect(await at.importFrom(at.folder)).toEqual(dry);
  const { body } = await at.server.request("GET", "/prompts/p/describe");
  expect(body.prompt).toMatchObject({
    availableVersions: ["1", "2"],
    availableTags: ["latest", "production", "staging"],
  });
});

test("two prompts whose names make one slug are not mixed", async () => {
  const { refusals } = await importPrompts(
    { name: "My Prompt", version: 1, prompt: "a" },
    { name: "my-prompt", version: 2, prompt: "b" },
  );
  expect(refusals).toEqual(['line 2: prompt "my-prompt" has the slug "my-prompt" of "My Prompt"']);
});

test("items of datasets become rows under their ids; archived ones are refused", async () => {
  const { refusals } = await at.importFrom(fixture("langfuse/dataset-items.json"));
  expect(refusals).toEqual(["line 16: is archived in Langfuse"]);
  const { body } = await at.server.request("GET", "/datasets/quiz-of-capitals");
  expect(body.dataset).toMatchObject({
    name: "Quiz of Capitals",
    columns: [
      { name: "question", type: "text" },
      { name: "facts", type: "json" },
      { name: "input", type: "text" },
    ],
    rows: [
      {
        values: { question: "Capital of Kenya?", facts: { a: 1 } },
        idealOutput: "Nairobi",
        metadata: { x: 1, source: { sourceTraceId: "t1", createdAt: "2026-01-01T00:00:00Z" } },
      },
      { values: { input: "plain" }, idealOutput: '{"a":[1]}' },
    ],
  });
  const { dataset } = await at.graphql(
    '{ dataset(slug: "quiz-of-capitals") { rows(first: 9) { nodes { key } } } }',
  );
  expect(dataset.rows.nodes).toEqual([{ key: "it-1" }, { key: "it-3" }]);
});

test("observations and scores become traces, with the prompt that served, the usage and the judgement", async () => {
  const { refusals } = await at.importFrom(fixture("langfuse"));
  expect(refusals).toContainEqual("line 3: is not valid JSON");
  const { traces } = await at.graphql(
    `{ traces(first: 10) { nodes {
    name externalId sessionId user { id } environment
    logs(first: 10) { nodes {
      name type depth status input output model inputTokens outputTokens cost costSource
      timeToFirstTokenMs version prompt { slug } latencyMs
    } }
  } } }`,
  );
  const ask = traces.nodes.find(({ name }: { name: string }) => name === "ask");
  expect(ask).toMatchObject({
    externalId: "0af7651916cd43dd8448eb211c80319c",
    sessionId: "s1",
    user: { id: "u1" },
    environment: "default",
  });
  expect(ask.logs.nodes).toMatchObject([
    { name: "root", type: "SPAN", depth: 0, input: { q: 1 }, output: "done", latencyMs: 1037 },
    {
      name: "llm",
      type: "GENERATION",
      depth: 1,
      model: "gpt-4o-mini",
      output: { role: "assistant", content: "yo" },
      inputTokens: 10,
      outputTokens: 5,
      cost: 0.001,
      costSource: "REPORTED",
      timeToFirstTokenMs: 100,
      version: "2",
      prompt: { slug: "movie-critic" },
    },
    { name: "quality", type: "EVALUATOR", depth: 2, output: { value: 0.9, comment: "good" } },
  ]);
  const nightly = traces.nodes.find(({ name }: { name: string }) => name === "nightly");
  expect(nightly).toMatchObject({
    externalId: "7f1c2d3e4b5a4c6d8e9f001122334455",
    environment: "production",
  });
  expect(nightly.logs.nodes).toMatchObject([
    { name: "nightly", type: "SPAN", input: { job: 7 }, output: "ok" },
    { name: "started", type: "EVENT", status: "ERROR" },
    { name: "verdict", type: "EVALUATOR", output: { value: 1, stringValue: "True" } },
  ]);
});

test("spans that no change of the source touches stay as served, also after production moved", async () => {
  const path = join(at.folder, "observations.jsonl");
  const importCall = async (completionTokens: number) => {
    const call = {
      id: "o",
      traceId: "t",
      type: "GENERATION",
      startTime: "2026-10-01T10:00:00Z",
      promptName: "p",
    };
    await writeFile(path, JSON.stringify({ ...call, usageDetails: { output: completionTokens } }));
    return (await at.importFrom(path)).counts.spans;
  };
  const config = { model: "gpt-4o-mini" };
  const first = { name: "p", version: 1, prompt: "one", config };
  await importPrompts({ ...first, labels: ["production"] });
  await importCall(5);
  const second = { name: "p", version: 2, prompt: "two", labels: ["production"] };
  await at.importFrom(await writePrompts(first, second), { tags: "moved" });
  expect((await at.server.request("GET", "/prompts/p")).body.prompt.version).toBe("2");
  const stored = await allRows(at.server);
  expect(await importCall(5)).toEqual({ added: 0, changed: 0, unchanged: 1 });
  expect(await allRows(at.server)).toEqual(stored);
  expect(await importCall(6)).toEqual({ added: 0, changed: 1, unchanged: 0 });
});

test("a version that a log reports and that is missing here stays as reported, and is found once it is imported", async () => {
  const config = { model: "gpt-4o" };
  await importPrompts({ name: "p", version: 2, prompt: "two", labels: ["production"], config });
  const path = join(at.folder, "observations.jsonl");
  const of = { id: "o", traceId: "t", type: "GENERATION", promptName: "p", promptVersion: 1 };
  const call = { ...of, startTime: "2026-10-01T10:00:00Z" };
  await writeFile(path, JSON.stringify(call));
  await at.importFrom(path);
  const stored = async () =>
    (await at.graphql("{ logs(first: 1) { nodes { version tag model promptVersion { text } } } }")).logs
      .nodes[0];
  const asReported = { version: "1", tag: null, model: null, promptVersion: null };
  expect(await stored()).toEqual(asReported);
  await writeFile(path, JSON.stringify({ ...call, output: "more" }));
  expect((await at.importFrom(path)).counts.spans.changed).toBe(1);
  expect(await stored()).toEqual(asReported);
  await importPrompts({ name: "p", version: 1, prompt: "one", config });
  expect(await stored()).toMatchObject({ version: "1", promptVersion: { text: "one" } });
});

test("a tag that is here stays, as calls are served by it, and moves only on demand", async () => {
  const [one, two] = [1, 2].map((version) => ({ name: "p", version, prompt: `text ${version}` }));
  await importPrompts({ ...one, labels: ["production", "staging"] });
  const path = await writePrompts({ ...one, labels: ["staging"] }, { ...two, labels: ["production", "new"] });
  const served = async () =>
    (await at.server.request("GET", "/prompts/p?tag=production")).body.prompt.version;

  const kept = await at.importFrom(path);
  expect(kept).toMatchObject({
    counts: { tags: { added: 1, changed: 0, unchanged: 1 } },
    leftOut: {
      'tag "production" of "p" at version "2", as it is at "1" here; --move-tags moves it': 1,
    },
  });
  expect(await served()).toBe("1");
  expect((await at.importFrom(path)).counts.tags).toEqual({
    added: 0,
    changed: 0,
    unchanged: 2,
  });

  const moved = await at.importFrom(path, { tags: "moved" });
  expect(moved).toMatchObject({ counts: { tags: { added: 0, changed: 1, unchanged: 2 } }, leftOut: {} });
  expect(await served()).toBe("2");
});
