import { v7 as uuidv7 } from "uuid";
import { afterEach, beforeEach, expect, test } from "vitest";
import { removeDeletedPrompts } from "../../src/prompts/removal.resolvers.ts";
import { addPrompt } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";
import { turnsDuring } from "../support/turns.ts";

let server: Server;
beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server[Symbol.asyncDispose]());

const never = new AbortController().signal;
const NOT_FOUND = { error: { code: "PROMPT_NOT_FOUND" } };
const PARTS = ["PromptVersion", "PromptTag", "PromptTagMove"] as const;
const remove = (slug: string) => server.run(`mutation { deletePrompt(slug: "${slug}") { deletedPromptId } }`);
const partsOf = (id: string) =>
  Promise.all(
    PARTS.map(async (entity) => {
      const found = await server.database.read
        .selectFrom(entity)
        .select("id")
        .where("prompt", "=", id)
        .execute();
      return found.length;
    }),
  );
const move = (slug: string, version: string) =>
  server.run(
    `mutation { publishPrompt(slug: "${slug}", input: { newTag: "production", to: { version: "${version}" } }) { promptTag { __typename } } }`,
  );

test("a prompt is gone at once for whoever asks, and its slug is free for another", async () => {
  const versions = [{ version: "1" }, { version: "2" }];
  const { id } = await addPrompt(server, { slug: "greeting", versions });
  expect(await move("greeting", "1")).not.toHaveProperty("error");
  const logged = await server.post("/monitor/log", { slug: "greeting", output: "x" });
  expect(logged.status).toBe(200);
  expect(await remove("greeting")).toMatch(/^[0-9a-f-]{36}$/);
  expect(await partsOf(id)).toEqual([2, 1, 1]);

  for (const slug of ["greeting", id]) {
    for (const path of [`/prompts/${slug}`, `/prompts/${slug}/describe`])
      expect((await server.get(path)).status).toBe(404);
    for (const query of [
      `{ prompt(slug: "${slug}") { slug } }`,
      `{ describePrompt(slug: "${slug}") { slug } }`,
      `{ renderPrompt(slug: "${slug}") { text } }`,
      `mutation { updatePrompt(slug: "${slug}", input: { name: "x" }) { prompt { slug } } }`,
      `mutation { createPromptVersion(slug: "${slug}", input: { version: "3", text: "x" }) { __typename } }`,
      `mutation { publishPrompt(slug: "${slug}", input: { newTag: "production", to: { version: "1" } }) { promptTag { __typename } } }`,
      `mutation { deletePrompt(slug: "${slug}") { deletedPromptId } }`,
    ])
      expect(await server.run(query)).toMatchObject(NOT_FOUND);
  }
  expect(await server.run("{ prompts { nodes { slug } } }")).toEqual([]);
  expect(await server.run('{ prompts(search: "greeting") { nodes { slug } } }')).toEqual([]);
  expect(await server.run("{ logs { nodes { prompt { slug } promptVersion { version } } } }")).toEqual([
    { prompt: null, promptVersion: null },
  ]);

  const other = await addPrompt(server, { slug: "greeting", versions: [{ version: "9" }] });
  await removeDeletedPrompts(server.database, never);
  expect(await partsOf(id)).toEqual([0, 0, 0]);
  expect(await partsOf(other.id)).toEqual([1, 0, 0]);
  expect(await server.database.read.selectFrom("Prompt").select("id").execute()).toEqual([{ id: other.id }]);
});

test("a deleted prompt is removed in steps, and one whose removal was stopped the next time", async () => {
  const versions = Array.from({ length: 40 }, (_, n) => ({ version: `${n}` }));
  const { id } = await addPrompt(server, { slug: "many", versions });
  await remove("many");
  const stopped = new AbortController();
  const removal = removeDeletedPrompts(server.database, stopped.signal);
  stopped.abort();
  await removal;
  expect(await partsOf(id)).toEqual([40, 0, 0]);
  // Whatever the deleted one is called meanwhile, it takes no slug from anybody.
  expect(await server.run(`mutation { createPrompt(input: { slug: "${id}" }) { prompt { slug } } }`)).toEqual(
    { slug: id },
  );

  const stop = await captureStatements(server);
  await removeDeletedPrompts(server.database, never);
  const removals = stop().filter(({ sql }) => /^delete from [`"]prompt_versions/.test(sql));
  expect(removals.length).toBeGreaterThan(2);
  expect(await partsOf(id)).toEqual([0, 0, 0]);
});

test("deleted prompts without parts are removed one in a turn of the event loop", async () => {
  const slugs = Array.from({ length: 30 }, (_, n) => `empty-${n}`);
  for (const slug of slugs) await addPrompt(server, { slug });
  for (const slug of slugs) await remove(slug);
  const stop = await captureStatements(server);
  const turns = await turnsDuring(() => removeDeletedPrompts(server.database, never));
  expect(turns).toBeGreaterThanOrEqual(slugs.length);
  const [read] = stop().filter(({ sql }) => /^select .*from .prompts/.test(sql));
  expect(read!.sql).toContain(" limit "); // reading 60,000 at once takes 0.7 s
});

test("more prompts than are looked up at once, all deleted in the same millisecond, are removed in one run", async () => {
  const { database } = server;
  const workspace = (await database.read.selectFrom("Workspace").select("id").executeTakeFirstOrThrow()).id;
  const deletedAt = new Date();
  const rows = Array.from({ length: 1_001 }, (_, n) => ({
    ...{ id: uuidv7(), workspace, slug: `~${n}`, name: "a", description: null, featureSlug: null },
    ...{ protectedTags: [], createdAt: deletedAt, deletedAt },
  }));
  await database.write.insertInto("Prompt").values(rows).execute();
  await removeDeletedPrompts(database, never);
  const left = await database.read
    .selectFrom("Prompt")
    .select("id")
    .where("deletedAt", "is not", null)
    .execute();
  expect(left).toEqual([]);
});

test("long versions after many short ones are removed 16 MB at a time", async () => {
  const short = Array.from({ length: 200 }, (_, n) => ({ version: `${n}` }));
  const long = Array.from({ length: 12 }, (_, n) => ({ version: `long ${n}`, text: "x".repeat(3_000_000) }));
  await addPrompt(server, { slug: "long", versions: [...short, ...long] });
  await remove("long");
  const stop = await captureStatements(server);
  await removeDeletedPrompts(server.database, never);
  const removals = stop().filter(({ sql }) => /^delete from .prompt_versions/.test(sql));
  expect(removals.length).toBeGreaterThanOrEqual(8); // 200 short ones take 6, into the last of which the long ones would fit
});

test("the audit log records how many versions a deleted prompt had, and the names of the first 100", async () => {
  const versions = Array.from({ length: 150 }, (_, n) => ({ version: `v${n}` }));
  await addPrompt(server, { slug: "many", versions });
  await remove("many");
  const [entry] = await server.run("{ auditLog(first: 1) { nodes { action before } } }");
  const names = versions.slice(0, 100).map(({ version }) => version);
  expect(entry).toMatchObject({
    action: "deletePrompt",
    before: { slug: "many", versionCount: 150, versions: names },
  });
});
