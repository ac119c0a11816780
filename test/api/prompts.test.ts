import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, expect, test, vi } from "vitest";
import { getTexts } from "../../src/prompts/cached.resolvers.ts";
import { promptContents } from "../../src/prompts/content.resolvers.ts";
import { describePromptAnswer } from "../../src/prompts/rest.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addPrompt } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

const DESCRIBE = `query($slug: String!, $version: String, $tag: String) {
  describePrompt(slug: $slug, version: $version, tag: $tag) {
    slug name status description availableVersions availableTags variables { label type description } version tag warning
  }
}`;

const variable = (label: string) => ({ label, type: "string", description: null });

await addPrompt(server, {
  slug: "live",
  description: "In use.",
  versions: [
    { version: "1.0.0", variables: [variable("one")] },
    { version: "1.1.0", variables: [variable("two")] },
    {
      version: "2.0.0-beta",
      variables: [variable("three"), { label: "tone", type: "enum", description: "How." }],
    },
  ],
  tags: { staging: "1.0.0", production: "1.1.0" },
});
await addPrompt(server, {
  slug: "draft",
  versions: [{ version: "0.1.0" }, { version: "0.2.0", variables: [variable("newest")] }],
  tags: { staging: "0.1.0" },
});
await addPrompt(server, { slug: "bare" });

const noTag = (tag: string) =>
  `Prompt "live" has no tag "${tag}"; the production version "1.1.0" was used instead.`;
const noVersion = (version: string) =>
  `Prompt "live" has no version "${version}"; the production version "1.1.0" was used instead.`;
const newest = 'Its newest version "0.2.0" is described.';

test.each([
  ["neither: the production version", "live", {}, "1.1.0", "production", null],
  ["a version", "live", { version: "1.0.0" }, "1.0.0", null, null],
  ["a tag", "live", { tag: "staging" }, "1.0.0", "staging", null],
  ["the tag production", "live", { tag: "production" }, "1.1.0", "production", null],
  ["the tag latest", "live", { tag: "latest" }, "2.0.0-beta", "latest", null],
  [
    "a version and a tag: the version wins",
    "live",
    { version: "2.0.0-beta", tag: "staging" },
    "2.0.0-beta",
    null,
    null,
  ],
  ["empty strings count as neither", "live", { version: "", tag: "" }, "1.1.0", "production", null],
  ["an unknown version", "live", { version: "9.9.9" }, "1.1.0", "production", noVersion("9.9.9")],
  ["an unknown tag", "live", { tag: "canary" }, "1.1.0", "production", noTag("canary")],
  [
    "an unknown version beside a tag",
    "live",
    { version: "9", tag: "staging" },
    "1.1.0",
    "production",
    noVersion("9"),
  ],
  [
    "no production version",
    "draft",
    {},
    "0.2.0",
    "latest",
    `Prompt "draft" has no production version. ${newest}`,
  ],
  [
    "the missing tag production",
    "draft",
    { tag: "production" },
    "0.2.0",
    "latest",
    `Prompt "draft" has no production version. ${newest}`,
  ],
  ["a version of a draft", "draft", { version: "0.1.0" }, "0.1.0", null, null],
  [
    "an unknown version of a draft",
    "draft",
    { version: "7" },
    "0.2.0",
    "latest",
    `Prompt "draft" has no version "7" and no production version. ${newest}`,
  ],
  [
    "an unknown tag of a draft",
    "draft",
    { tag: "x" },
    "0.2.0",
    "latest",
    `Prompt "draft" has no tag "x" and no production version. ${newest}`,
  ],
  ["a prompt without versions", "bare", {}, null, null, 'Prompt "bare" has no version yet.'],
  [
    "a version of a prompt without versions",
    "bare",
    { version: "1" },
    null,
    null,
    'Prompt "bare" has no version yet.',
  ],
])(
  "a prompt is described by what was asked for, at both APIs: %s",
  async (_, slug, choice, version, tag, warning) => {
    const rest = await server.get(`/prompts/${slug}/describe?${new URLSearchParams(choice)}`);
    expect(rest.status).toBe(200);
    describePromptAnswer.strict().parse(rest.body);
    expect(rest.body.prompt).toMatchObject({ version, tag });
    expect(rest.body.warning ?? null).toBe(warning);
    expect(Object.hasOwn(rest.body, "warning")).toBe(warning !== null);
    const graphql = await server.graphql(DESCRIBE, { slug, ...choice });
    expect(graphql.body.data.describePrompt).toMatchObject({
      ...rest.body.prompt,
      status: rest.body.prompt.status.toUpperCase(),
      warning,
    });
  },
);

test("a description has the status, versions from the oldest on, tags with latest, and the served version's variables", async () => {
  const { body } = await server.get("/prompts/live/describe?tag=latest");
  expect(body.prompt).toEqual({
    slug: "live",
    name: "The live",
    status: "live",
    description: "In use.",
    availableVersions: ["1.0.0", "1.1.0", "2.0.0-beta"],
    availableTags: ["latest", "production", "staging"],
    variables: [
      { label: "three", type: "string" },
      { label: "tone", type: "enum", description: "How." },
    ],
    version: "2.0.0-beta",
    tag: "latest",
  });
});

test("a prompt is a draft until a version has the tag production", async () => {
  expect((await server.get("/prompts/draft/describe")).body.prompt.status).toBe("draft");
  expect((await server.get("/prompts/country-guide/describe")).body.prompt.status).toBe("live");
});

test("a prompt without versions has empty lists of versions, tags and variables", async () => {
  const { body } = await server.get("/prompts/bare/describe");
  expect(body.prompt).toMatchObject({
    status: "draft",
    availableVersions: [],
    availableTags: [],
    variables: [],
  });
});

test("the sample has a live prompt with three versions, and a draft", async () => {
  const live = (await server.get("/prompts/country-guide/describe?tag=staging")).body.prompt;
  expect(live).toMatchObject({
    status: "live",
    availableVersions: ["1.0.0", "1.1.0", "2.0.0"],
    version: "2.0.0",
  });
  expect(live.availableTags).toEqual(["latest", "production", "staging"]);
  expect(live.variables.length).toBeGreaterThan(0);
  expect((await server.get("/prompts/flag-describer/describe")).body.prompt.status).toBe("draft");
});

test.each(["nope", "Live", "x/../live", "🙂", "%"])(
  "describing a prompt that does not exist is PROMPT_NOT_FOUND: %s",
  async (slug) => {
    const expected = { code: "PROMPT_NOT_FOUND" };
    const rest = await server.get(`/prompts/${encodeURIComponent(slug)}/describe`);
    expect(rest).toMatchObject({ status: 404, body: expected });
    const graphql = await server.graphql(DESCRIBE, { slug });
    expect(graphql.body).toMatchObject({
      data: { describePrompt: null },
      errors: [{ extensions: expected }],
    });
    expect(graphql.body.errors[0].message).toBe(rest.body.error);
  },
);

test("a version that is removed while it is being read is not found, and no fault of the service", async () => {
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  const reading = getTexts(context, "01890a5d-ac96-774b-bcce-b302099a8057");
  await expect(reading).rejects.toMatchObject({ code: "VERSION_NOT_FOUND" });
});

const PUBLISH = `mutation ($slug: String!) {
  createPromptVersion(slug: $slug, input: { version: "2", text: "two" }) { promptVersion { version } }
  publishPrompt(slug: $slug, input: { newTag: "production", to: { version: "2" } }) { promptTag { version } }
}`;

test.each([
  ["served", (slug: string) => server.get(`/prompts/${slug}`)],
  ["logged", (slug: string) => server.post("/monitor/log", { slug, input: "a", output: "b" })],
])("a prompt in production is %s as such while another version is published", async (how, ask) => {
  const slug = `moved-while-${how}`;
  await addPrompt(server, { slug, versions: [{ version: "1" }], tags: { production: "1" } });
  const { rows } = server.database;
  let publishing: Promise<unknown> | undefined;
  const reading = vi.spyOn(server.database, "rows").mockImplementation(async (query) => {
    const { sql } = query.compile();
    if (/from [`"]prompt_tags/.test(sql)) {
      await nextTurn(); // the versions are read first where the tags do not have to be there
      await publishing;
      return rows(query);
    }
    const found = await rows(query);
    if (/from [`"]prompt_versions/.test(sql)) {
      reading.mockRestore();
      publishing = server.run(PUBLISH, { slug });
      expect(await publishing).not.toHaveProperty("error");
    }
    return found;
  });
  const { status, body } = await ask(slug);
  expect(vi.isMockFunction(server.database.rows)).toBe(false); // another version was published
  expect([status, body.warning ?? null]).toEqual([200, null]);
});

test("what pull and an export read has every version that its tags name while another version is published", async () => {
  const slug = "moved-while-exported";
  await addPrompt(server, { slug, versions: [{ version: "1" }], tags: { production: "1" } });
  const { rows } = server.database;
  const reading = vi.spyOn(server.database, "rows").mockImplementation(async (query) => {
    if (!/from [`"]prompt_tags/.test(query.compile().sql)) return rows(query);
    reading.mockRestore();
    expect(await server.run(PUBLISH, { slug })).not.toHaveProperty("error");
    return rows(query);
  });
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  const read = (await promptContents(context)).find((prompt) => prompt.slug === slug)!;
  expect(vi.isMockFunction(server.database.rows)).toBe(false); // another version was published
  expect(read.tags).toEqual(new Map([["production", "2"]]));
  expect(read.versions.map(({ version }) => version)).toEqual(["1", "2"]);
});
