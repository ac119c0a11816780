import { expect, test } from "vitest";
import { fixture, importing } from "../support/imports.ts";

const at = importing("promptlayer");

test("a version that stands there again, for its label, is one version with that label", async () => {
  const content = { type: "completion", content: [{ type: "text", text: "x" }] };
  const version = { prompt_name: "p", version: 1, prompt_template: content };
  const path = await at.write("prompts.jsonl", version, { ...version, release_labels: ["prod"] });
  expect((await at.importFrom(path)).counts).toMatchObject({
    versions: { added: 1 },
    tags: { added: 1 },
  });
});

test("versions arrive with their release labels, each message in its own format", async () => {
  const { counts, refusals, leftOut } = await at.importFrom(fixture("promptlayer"));
  expect(counts).toMatchObject({ prompts: { added: 1 }, versions: { added: 2 }, tags: { added: 1 } });
  expect(refusals).toEqual([
    expect.stringContaining(
      'version 1 of prompt "Priced": message 1: line 2 of its text: {price:.2f} is no plain',
    ),
    expect.stringContaining('version 1 of prompt "Picture": message 1 is no text'),
  ]);
  expect(leftOut).toEqual({ "commit messages": 1, "tags of prompts (not their release labels)": 1 });
  const query = `{ prompt(slug: "support-reply") { name production { version messages { role content placeholder }
    model { provider model parameters } } versions(first: 5) { nodes { version text } } } }`;
  const { body } = await at.server.request("POST", "/graphql", { query });
  expect(body.data.prompt).toMatchObject({
    name: "Support Reply",
    production: {
      version: "2",
      messages: [
        { role: "system", content: "Be kind to {{ user }}. Use {json}." },
        { placeholder: "history" },
        { role: "user", content: '{% if question %}{{ "\\n" }}{{ question }}\n{% endif %}' },
      ],
      model: {
        provider: "openai",
        model: "gpt-4o-mini",
        parameters: { temperature: 0.3, tools: [{ type: "function", function: { name: "look_up" } }] },
      },
    },
    versions: { nodes: [{ version: "1", text: "Reply to {{ question }}" }, { version: "2" }] },
  });
});
