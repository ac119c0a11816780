import { expect, test } from "vitest";
import { addPrompt } from "../support/data.ts";
import { importing } from "../support/imports.ts";

const at = importing("langfuse");

const theirs = { type: "text", name: "p", version: 1, prompt: "theirs", labels: ["production"] };

test("a tag does not put a version into production whose content was refused", async () => {
  await addPrompt(at.server, { slug: "p", versions: [{ version: "1", text: "an old draft of ours" }] });
  const { counts, refusals } = await at.importFrom(await at.write("prompts.jsonl", theirs));
  expect(refusals[0]).toMatch(/version "1" of prompt "p" exists with other content/);
  const { body } = await at.server.get("/prompts/p/describe");
  expect(body.prompt).toMatchObject({ status: "draft", availableTags: ["latest"] });
  expect(counts.tags).toMatchObject({ added: 0, changed: 0 });
});

test("nor does it move there on demand", async () => {
  await addPrompt(at.server, {
    slug: "p",
    versions: [
      { version: "1", text: "an old draft of ours" },
      { version: "2", text: "in use" },
    ],
    tags: { production: "2" },
  });
  const path = await at.write("prompts.jsonl", theirs);
  const { counts, refusals } = await at.importFrom(path, { tags: "moved" });
  expect(refusals[0]).toMatch(/version "1" of prompt "p" exists with other content/);
  expect((await at.server.get("/prompts/p")).body.prompt).toMatchObject({ version: "2", text: "in use" });
  expect(counts.tags).toMatchObject({ added: 0, changed: 0 });
});
