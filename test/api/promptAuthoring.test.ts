import { afterAll, expect, test } from "vitest";
import { publishPromptAnswer } from "../../src/prompts/publishing.rest.ts";
import { promptsAnswer, servedPromptAnswer } from "../../src/prompts/reading.rest.ts";
import { toCursor } from "../../src/validation/pagination.ts";
import { addDataset, addToken, addWorkspace } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const { token: writer } = await addToken(server, { scopes: ["read", "write"] });
const other = await addWorkspace(server, "other");

const { run } = server;

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/;

const CREATE =
  "mutation($slug: String!, $name: String, $description: String, $featureSlug: String) { createPrompt(input: { slug: $slug, name: $name, description: $description, featureSlug: $featureSlug }) { prompt { slug name status description availableVersions availableTags featureSlug } } }";
const VERSION =
  "mutation($slug: String!, $input: PromptVersionInput!) { createPromptVersion(slug: $slug, input: $input) { promptVersion { version text systemText model { provider client model version parameters } variables { label type description } } warnings { code message path } } }";
const PUBLISH =
  "mutation($slug: String!, $newTag: String!, $to: PromptVersionSelector!) { publishPrompt(slug: $slug, input: { newTag: $newTag, to: $to }) { promptTag { label version } } }";

/** A prompt with the versions 1.0.0, 1.1.0 and 2.0.0, of which 1.0.0 is in production. */
async function addPrompt(slug: string) {
  await run(CREATE, { slug });
  for (const version of ["1.0.0", "1.1.0", "2.0.0"]) {
    await run(VERSION, { slug, input: { version, text: `Version ${version} for {{ name }}` } });
  }
  await run(PUBLISH, { slug, newTag: "production", to: { version: "1.0.0" } });
}

test("a version keeps the commit that it comes from", async () => {
  await run(CREATE, { slug: "committed" });
  const create =
    'mutation($input: PromptVersionInput!) { createPromptVersion(slug: "committed", input: $input) { promptVersion { source { commit author message } } } }';
  const source = { commit: "c0ffee", author: "Ann Ko", message: null };
  const input = { version: "1", text: "Hi.", source: { commit: "c0ffee", author: "Ann Ko" } };
  expect(await run(create, { input })).toEqual({ promptVersion: { source } });
  expect(await run(create, { input: { version: "2", text: "Hi." } })).toEqual({
    promptVersion: { source: null },
  });
  const read =
    '{ prompt(slug: "committed") { versions { nodes { version source { commit author message } } } } }';
  expect(await run(read)).toEqual({
    versions: [
      { version: "1", source },
      { version: "2", source: null },
    ],
  });
});

test("a prompt is made from nothing, gets a version, is published and serves", async () => {
  expect(
    await run(CREATE, {
      slug: "greeting",
      name: "Greeting",
      description: "Says hello.",
      featureSlug: "chat",
    }),
  ).toEqual({
    slug: "greeting",
    name: "Greeting",
    status: "DRAFT",
    description: "Says hello.",
    availableVersions: [],
    availableTags: [],
    featureSlug: "chat",
  });
  const input = {
    version: "1.0.0",
    text: "Hello {{ name }}, how is {{ place }}?",
    systemText: "Be {{ tone }}.",
    model: { provider: "openai", model: "gpt-4o-mini", parameters: { temperature: 0.2, kind: "x" } },
    variables: [
      { label: "name", type: "text", description: "Whom to greet." },
      { label: "place" },
      { label: "tone" },
    ],
  };
  expect(await run(VERSION, { slug: "greeting", input })).toEqual({
    promptVersion: {
      ...input,
      model: { ...input.model, client: null, version: null },
      variables: [
        { label: "name", type: "text", description: "Whom to greet." },
        { label: "place", type: "string", description: null },
        { label: "tone", type: "string", description: null },
      ],
    },
    warnings: [],
  });
  expect(await run(PUBLISH, { slug: "greeting", newTag: "production", to: { version: "1.0.0" } })).toEqual({
    label: "production",
    version: "1.0.0",
  });
  const { body } = await server.get("/prompts/greeting");
  servedPromptAnswer.strict().parse(body);
  expect(body).toEqual({
    prompt: {
      slug: "greeting",
      text: input.text,
      systemText: "Be {{ tone }}.",
      version: "1.0.0",
      tag: "production",
      model: {
        provider: "openai",
        client: "open-ai",
        model: "gpt-4o-mini",
        version: "",
        parameters: { temperature: 0.2, topP: 1, maxLength: 0, responseFormat: "text", kind: "x" },
      },
    },
  });
});

test("what cannot be found or fit of the variables is a warning, and they are found without being declared", async () => {
  await run(CREATE, { slug: "variables" });
  const declared = {
    version: "1",
    text: "{{ used }} {{ undeclared }}",
    variables: [{ label: "used" }, { label: "unused" }],
  };
  const { warnings } = await run(VERSION, { slug: "variables", input: declared });
  expect(warnings).toEqual([
    {
      code: "VARIABLE_NOT_USED",
      message: "The following variables are declared but not used: unused.",
      path: "variables",
    },
    {
      code: "VARIABLE_NOT_DECLARED",
      message: "The following variables are used but were not declared: undeclared.",
      path: "variables",
    },
  ]);
  const found = await run(VERSION, {
    slug: "variables",
    input: { version: "2", text: "{% for x in list %}{{ x }}{% endfor %}{{ tail }}" },
  });
  expect(found).toMatchObject({
    warnings: [],
    promptVersion: { variables: [{ label: "list" }, { label: "tail" }] },
  });
});

test("a template that is no Jinja is refused with line and column, and no version is made", async () => {
  await run(CREATE, { slug: "broken" });
  const { error } = await run(VERSION, { slug: "broken", input: { version: "1", text: "Hello\n  {{ name" } });
  expect(error).toMatchObject({
    code: "BAD_INPUT",
    details: [{ path: "text", message: expect.stringMatching(/line 2, column \d+/) }],
  });
  const second = await run(VERSION, {
    slug: "broken",
    input: { version: "1", text: "ok", systemText: "{% if %}" },
  });
  expect(second.error.details[0].path).toBe("systemText");
  expect((await server.get("/prompts/broken/describe")).body.prompt.availableVersions).toEqual([]);
});

test.each([
  ["a slug that is taken", CREATE, { slug: "taken" }, 'A prompt with the slug "taken" exists already.'],
  [
    "a version that is there",
    VERSION,
    { slug: "taken", input: { version: "1.0.0", text: "x" } },
    'Prompt "taken" already has a version "1.0.0". Versions never change; choose another name.',
  ],
])("%s is a CONFLICT that names it", async (_, operation, variables, message) => {
  await addPrompt("taken");
  expect(await run(operation, variables)).toMatchObject({ error: { code: "CONFLICT", message } });
});

test.each(["", "Upper", "a b", "-a", "a-", "a--b", "ü", "x".repeat(129), "a\0"])(
  "a new slug of another form is refused: %j",
  async (slug) => {
    expect(await run(CREATE, { slug })).toMatchObject({
      error: {
        code: "BAD_INPUT",
        details: expect.arrayContaining([expect.objectContaining({ path: "slug" })]),
      },
    });
  },
);

test.each([
  ["an unknown prompt", PUBLISH, { slug: "nope", newTag: "t", to: { version: "1" } }, "PROMPT_NOT_FOUND"],
  ["an unknown version", PUBLISH, { slug: "known", newTag: "t", to: { version: "9" } }, "VERSION_NOT_FOUND"],
  ["an unknown tag to follow", PUBLISH, { slug: "known", newTag: "t", to: { tag: "nope" } }, "TAG_NOT_FOUND"],
  ["neither version nor tag", PUBLISH, { slug: "known", newTag: "t", to: {} }, "BAD_INPUT"],
  [
    "both version and tag",
    PUBLISH,
    { slug: "known", newTag: "t", to: { version: "1.0.0", tag: "production" } },
    "BAD_INPUT",
  ],
  ["the tag latest", PUBLISH, { slug: "known", newTag: "latest", to: { version: "1.0.0" } }, "FORBIDDEN"],
  [
    "removing latest",
    'mutation { removePromptTag(slug: "known", input: { tag: "latest" }) { deletedPromptTagId } }',
    {},
    "FORBIDDEN",
  ],
  [
    "rolling back latest",
    'mutation { rollbackPromptTag(slug: "known", input: { tag: "latest" }) { promptTag { id } } }',
    {},
    "FORBIDDEN",
  ],
  [
    "protecting latest",
    'mutation { setTagProtection(slug: "known", input: { tag: "latest", protected: true }) { protectedTags } }',
    {},
    "FORBIDDEN",
  ],
  [
    "removing an unknown tag",
    'mutation { removePromptTag(slug: "known", input: { tag: "nope" }) { deletedPromptTagId } }',
    {},
    "TAG_NOT_FOUND",
  ],
  [
    "rolling back a tag that never moved",
    'mutation { rollbackPromptTag(slug: "known", input: { tag: "nope" }) { promptTag { id } } }',
    {},
    "CONFLICT",
  ],
  [
    "a version for an unknown prompt",
    VERSION,
    { slug: "nope", input: { version: "1", text: "x" } },
    "PROMPT_NOT_FOUND",
  ],
  ["a version without text", VERSION, { slug: "known", input: { version: "9", text: "" } }, "BAD_INPUT"],
  [
    "the diff with an unknown version",
    '{ promptDiff(slug: "known", from: "1.0.0", to: "9") }',
    {},
    "VERSION_NOT_FOUND",
  ],
  [
    "updating an unknown prompt",
    'mutation { updatePrompt(slug: "nope", input: { name: "x" }) { prompt { slug } } }',
    {},
    "PROMPT_NOT_FOUND",
  ],
  [
    "deleting an unknown prompt",
    'mutation { deletePrompt(slug: "nope") { deletedPromptId } }',
    {},
    "PROMPT_NOT_FOUND",
  ],
])("what cannot be done is an error and changes nothing: %s", async (_, operation, variables, code) => {
  if ((await server.get("/prompts/known/describe")).status === 404) await addPrompt("known");
  const before = (await server.get("/prompts/known/describe")).body;
  expect(await run(operation, variables)).toMatchObject({ error: { code } });
  expect((await server.get("/prompts/known/describe")).body).toEqual(before);
});

test("a tag moves by version and by another tag, goes back, is removed, and its history says by whom", async () => {
  await addPrompt("moving");
  await run(PUBLISH, { slug: "moving", newTag: "staging", to: { tag: "latest" } }, writer);
  await run(PUBLISH, { slug: "moving", newTag: "production", to: { tag: "staging" } }, writer);
  const served = async () => (await server.get("/prompts/moving")).body.prompt.version;
  expect(await served()).toBe("2.0.0");
  expect(
    await run(
      'mutation { rollbackPromptTag(slug: "moving", input: { tag: "production" }) { promptTag { label version } } }',
    ),
  ).toEqual({ label: "production", version: "1.0.0" });
  expect(await served()).toBe("1.0.0");
  expect(
    await run(
      'mutation { removePromptTag(slug: "moving", input: { tag: "staging" }) { deletedPromptTagId } }',
    ),
  ).toMatch(UUID);
  const prompt = await run(
    '{ prompt(slug: "moving") { availableTags tags { label version } production { version } latest { version } versions { nodes { version } } tagHistory { nodes { tag from to token } } } }',
  );
  expect(prompt).toEqual({
    availableTags: ["latest", "production"],
    tags: [{ label: "production", version: "1.0.0" }],
    production: { version: "1.0.0" },
    latest: { version: "2.0.0" },
    versions: ["1.0.0", "1.1.0", "2.0.0"].map((version) => ({ version })),
    tagHistory: [
      { tag: "staging", from: "2.0.0", to: null, token: "first" },
      { tag: "production", from: "2.0.0", to: "1.0.0", token: "first" },
      { tag: "production", from: "1.0.0", to: "2.0.0", token: "test" },
      { tag: "staging", from: null, to: "2.0.0", token: "test" },
      { tag: "production", from: null, to: "1.0.0", token: "first" },
    ],
  });
  expect(
    await run(
      'mutation { rollbackPromptTag(slug: "moving", input: { tag: "staging" }) { promptTag { version } } }',
    ),
  ).toEqual({
    version: "2.0.0",
  });
});

test("a protected tag moves only with a token that may publish, whatever the way", async () => {
  await addPrompt("guarded");
  expect(
    await run(
      'mutation { setTagProtection(slug: "guarded", input: { tag: "production", protected: true }) { protectedTags } }',
    ),
  ).toEqual(["production"]);
  expect(await run('{ prompt(slug: "guarded") { protectedTags } }')).toEqual(["production"]);
  const ways = [
    'publishPrompt(slug: "guarded", input: { newTag: "production", to: { version: "2.0.0" } }) { promptTag { id } }',
    'removePromptTag(slug: "guarded", input: { tag: "production" }) { deletedPromptTagId }',
    'rollbackPromptTag(slug: "guarded", input: { tag: "production" }) { promptTag { id } }',
  ];
  for (const way of ways)
    expect(await run(`mutation { ${way} }`, {}, writer)).toMatchObject({ error: { code: "FORBIDDEN" } });
  const rest = await server.post(
    "/prompts/guarded/publish",
    { newTag: "production", version: "2.0.0" },
    { token: writer },
  );
  expect(rest).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
  expect((await server.get("/prompts/guarded")).body.prompt.version).toBe("1.0.0");
  expect(await run(`mutation { ${ways[0]} }`)).not.toHaveProperty("error");
  await run(
    'mutation { setTagProtection(slug: "guarded", input: { tag: "production", protected: false }) { protectedTags } }',
  );
  expect(
    await run(
      'mutation { publishPrompt(slug: "guarded", input: { newTag: "production", to: { version: "1.1.0" } }) { promptTag { version } } }',
      {},
      writer,
    ),
  ).toEqual({ version: "1.1.0" });
});

test("publishing by REST answers 201 with the tag, and the prompt list has what the clients read", async () => {
  await addPrompt("listed");
  await run(
    'mutation { updatePrompt(slug: "listed", input: { featureSlug: "feature-x", description: "d" }) { prompt { slug } } }',
  );
  const published = await server.post("/prompts/listed/publish", { newTag: "canary", tag: "latest" });
  expect(published.status).toBe(201);
  expect(publishPromptAnswer.strict().parse(published.body).deploymentTag.label).toBe("canary");
  const { body } = await server.get("/prompts?featureSlug=feature-x");
  promptsAnswer.strict().parse(body);
  expect(body).toEqual({
    prompts: [
      {
        slug: "listed",
        name: "listed",
        status: "live",
        description: "d",
        availableVersions: ["1.0.0", "1.1.0", "2.0.0"],
        availableTags: ["canary", "latest", "production"],
      },
    ],
  });
  const all = (await server.get("/prompts")).body.prompts.map(({ slug }: { slug: string }) => slug);
  expect(all).toEqual(all.toSorted());
  expect(all).toContain("listed");
});

const FILTERED: [filter: object, slugs: string[]][] = [
  [{}, ["filtered-a", "filtered-b", "filtered-c"]],
  [{ featureSlug: "one" }, ["filtered-a"]],
  [{ featureSlug: ["one", "two"] }, ["filtered-a", "filtered-b"]],
  [{ featureSlug: [] }, []],
  [{ slug: ["filtered-b", "filtered-c"], featureSlug: ["one", "two"] }, ["filtered-b"]],
  [{ not: { featureSlug: "one" } }, ["filtered-b", "filtered-c"]],
  [{ or: [{ featureSlug: "two" }, { slug: "filtered-c" }] }, ["filtered-b", "filtered-c"]],
  [{ or: [] }, []],
  [{ and: [{ featureSlug: ["one", "two"] }, { not: { slug: "filtered-a" } }] }, ["filtered-b"]],
  [{ not: { or: [{ featureSlug: "one" }, { not: { slug: "filtered-c" } }] } }, ["filtered-c"]],
];

test.each(FILTERED)(
  "prompts are filtered by %j, also while they are searched and paged",
  async (filter, slugs) => {
    await using own = await startServer();
    const features = { a: "one", b: "two", c: null };
    for (const [name, featureSlug] of Object.entries(features))
      await own.run(CREATE, { slug: `filtered-${name}`, featureSlug });
    const LIST =
      "query($f: PromptFilter, $s: String, $a: String) { prompts(filter: $f, search: $s, first: 1, after: $a) { nodes { slug } pageInfo { hasNextPage endCursor } } }";
    for (const search of [null, "FILTERED"]) {
      const listed: string[] = [];
      for (let after: string | null = null, more = true; more; ) {
        const { body } = await own.graphql(LIST, { f: filter, s: search, a: after });
        const { nodes, pageInfo } = body.data.prompts;
        listed.push(...nodes.map(({ slug }: { slug: string }) => slug));
        [after, more] = [pageInfo.endCursor, pageInfo.hasNextPage];
      }
      expect(listed).toEqual(slugs);
    }
  },
);

test("a plain argument and a filter of prompts hold together, and a filter has bounds", async () => {
  await run(CREATE, { slug: "both-a", featureSlug: "both" });
  await run(CREATE, { slug: "both-b", featureSlug: "both" });
  const LIST = 'query($f: PromptFilter) { prompts(featureSlug: "both", filter: $f) { nodes { slug } } }';
  expect(await run(LIST, { f: { slug: ["both-b", "other"] } })).toEqual([{ slug: "both-b" }]);
  expect(await run(LIST, { f: { slug: Array(200).fill("a") } })).toMatchObject({
    error: {
      code: "BAD_INPUT",
      message: expect.stringContaining("must have at most 200 values and conditions"),
    },
  });
  expect(await run(LIST, { f: { slug: ["a", "s".repeat(4_097)] } })).toMatchObject({
    error: { code: "BAD_INPUT", message: expect.stringContaining("must have at most 4096 characters") },
  });
});

test("prompts are searched in any case, with wildcards as ordinary characters, and paged by slug", async () => {
  await run(CREATE, { slug: "search-a", name: "100% Ready_made" });
  await run(CREATE, { slug: "search-b", description: "Über die READY-Liste" });
  const slugs = async (search: string, page = "") =>
    await run(`{ prompts(search: ${JSON.stringify(search)}${page}) { nodes { slug } } }`);
  expect(await slugs("ready")).toEqual([{ slug: "search-a" }, { slug: "search-b" }]);
  expect(await slugs("100%")).toEqual([{ slug: "search-a" }]);
  expect(await slugs("y_m")).toEqual([{ slug: "search-a" }]);
  expect(await slugs("y%m")).toEqual([]);
  expect(await slugs("search-", ", first: 1")).toEqual([{ slug: "search-a" }]);
  expect(await slugs("search-", `, first: 1, after: "${toCursor("search-a")}"`)).toEqual([
    { slug: "search-b" },
  ]);
});

test("a prompt that has no production version does not serve unless a version is asked for", async () => {
  await run(CREATE, { slug: "unpublished" });
  await run(VERSION, { slug: "unpublished", input: { version: "0.1.0", text: "draft" } });
  expect(await server.get("/prompts/unpublished")).toMatchObject({
    status: 404,
    body: { code: "VERSION_NOT_FOUND" },
  });
  expect(await run('{ servedPrompt(slug: "unpublished") { text } }')).toMatchObject({
    error: { code: "VERSION_NOT_FOUND" },
  });
  const asked = await server.get("/prompts/unpublished?version=0.1.0");
  expect(asked.body.prompt).toMatchObject({ text: "draft", version: "0.1.0", tag: "", systemText: "" });
  const missing = await server.get("/prompts/nope");
  expect(missing).toMatchObject({ status: 404, body: { code: "PROMPT_NOT_FOUND" } });
});

test.each(["/prompts/tagged", "/prompts/tagged/describe", "/prompts"])(
  "%s read again with its ETag is 304 until it changes",
  async (path) => {
    await addPrompt("tagged");
    const { etag } = (await server.get(path)).headers;
    const read = (ifNoneMatch: string) => server.get(path, { headers: { "if-none-match": ifNoneMatch } });
    for (const known of [`${etag}`, `W/${etag}`, `"other", ${etag}`, "*"])
      expect(await read(known)).toMatchObject({ status: 304, body: "" });
    expect((await read('"other"')).status).toBe(200);
    await run(PUBLISH, { slug: "tagged", newTag: `t${path.length}`, to: { version: "2.0.0" } });
    await run(PUBLISH, {
      slug: "tagged",
      newTag: "production",
      to: { version: path.length % 2 ? "2.0.0" : "1.1.0" },
    });
    expect((await read(`${etag}`)).status).toBe(200);
  },
);

test("an ETag changes nothing of a publication or of an error", async () => {
  await addPrompt("untagged");
  const publish = () =>
    server.post(
      "/prompts/untagged/publish",
      { newTag: "t", version: "1.0.0" },
      { headers: { "if-none-match": "*" } },
    );
  expect(await publish()).toMatchObject({ status: 201, body: { deploymentTag: { label: "t" } } });
  expect((await server.get("/prompts/nope", { headers: { "if-none-match": "*" } })).status).toBe(404);
});

test("a prompt is rendered with values, and what is missing or not used is a warning", async () => {
  await run(CREATE, { slug: "rendered" });
  await run(VERSION, {
    slug: "rendered",
    input: { version: "1", text: "Hello {{ name }}{% if vip %}!{% endif %}", systemText: "To {{ name }}" },
  });
  await run(PUBLISH, { slug: "rendered", newTag: "production", to: { version: "1" } });
  const RENDER =
    'query($variables: [PromptVariableValue!]) { renderPrompt(slug: "rendered", variables: $variables) { text systemText version warnings { code message path } } }';
  const full = await run(RENDER, {
    variables: [
      { label: "name", value: "Amina" },
      { label: "vip", value: "yes" },
    ],
  });
  expect(full).toEqual({ text: "Hello Amina!", systemText: "To Amina", version: "1", warnings: [] });
  const partial = await run(RENDER, {
    variables: [
      { label: "name", value: "<b>" },
      { label: "extra", value: "x" },
    ],
  });
  expect(partial).toMatchObject({ text: "Hello <b>", systemText: "To <b>" });
  expect(partial.warnings).toEqual([
    { code: "VALUE_MISSING", message: "No value was given for: vip.", path: "variables" },
    { code: "VALUE_NOT_USED", message: "The template does not use: extra.", path: "variables" },
  ]);
});

test("two versions are compared as a unified diff", async () => {
  await addPrompt("compared");
  const diff = await run('{ promptDiff(slug: "compared", from: "1.0.0", to: "2.0.0") }');
  expect(diff).toContain("-Version 1.0.0 for {{ name }}");
  expect(diff).toContain("+Version 2.0.0 for {{ name }}");
  expect(await run('{ promptDiff(slug: "compared", from: "1.0.0", to: "1.0.0") }')).toBe("");
  const missing = await run('{ promptDiff(slug: "compared", from: "8", to: "9") }');
  expect(missing.error.message).toContain('no version "8"');
});

test("a deleted prompt is gone, its logs stay readable, and its slug is free again", async () => {
  await addPrompt("deleted");
  const { body } = await server.post("/monitor/log", { slug: "deleted", output: "kept", name: "n" });
  expect(await run('mutation { deletePrompt(slug: "deleted") { deletedPromptId } }')).toMatch(UUID);
  expect((await server.get("/prompts/deleted")).status).toBe(404);
  const log = await run(`{ log(id: "${body.log.id}") { output version prompt { slug } trace { name } } }`);
  expect(log).toEqual({ output: "kept", version: "1.0.0", prompt: null, trace: { name: "n" } });
  expect(await run(CREATE, { slug: "deleted" })).toMatchObject({ availableVersions: [] });
});

test("an update changes what it names and nothing else", async () => {
  await run(CREATE, { slug: "updated", name: "Old", description: "D", featureSlug: "f" });
  const update = (args: string) =>
    run(`mutation { updatePrompt(slug: "updated", input: { ${args} }) { prompt { name description } } }`);
  expect(await update('name: "New"')).toEqual({ name: "New", description: "D" });
  expect(await update("description: null")).toEqual({ name: "New", description: null });
  expect((await server.get("/prompts?featureSlug=f")).body.prompts).toHaveLength(1);
});

test("a token that may only write is refused before anything is stored where the answer would show what is there", async () => {
  const { token } = await addToken(server, { scopes: ["write"] });
  expect(await run(CREATE, { slug: "by-writer" }, token)).toMatchObject({ error: { code: "FORBIDDEN" } });
  expect((await server.get("/prompts/by-writer/describe")).status).toBe(404);
  await run(CREATE, { slug: "by-writer" });
  expect(await run(VERSION, { slug: "by-writer", input: { version: "1", text: "x" } }, token)).toMatchObject({
    promptVersion: { version: "1" },
  });
});

test("a prompt with a protected tag is not deleted by who may not move the tag", async () => {
  await addPrompt("kept");
  await run(
    'mutation { setTagProtection(slug: "kept", input: { tag: "production", protected: true }) { protectedTags } }',
  );
  expect(await run('mutation { deletePrompt(slug: "kept") { deletedPromptId } }', {}, writer)).toMatchObject({
    error: { code: "FORBIDDEN" },
  });
  expect((await server.get("/prompts/kept")).status).toBe(200);
  expect(await run('mutation { deletePrompt(slug: "kept") { deletedPromptId } }')).toMatch(UUID);
});

test("what a change in a document changed is seen by the fields after it", async () => {
  await addPrompt("fresh");
  const fields = "{ production { version } tags { version } tagHistory { nodes { to } } }";
  const { body } = await server.graphql(`mutation {
    before: updatePrompt(slug: "fresh", input: {}) { prompt ${fields} }
    publishPrompt(slug: "fresh", input: { newTag: "production", to: { version: "2.0.0" } }) { promptTag { label } }
    after: updatePrompt(slug: "fresh", input: {}) { prompt ${fields} }
  }`);
  expect(body.data.before.prompt.production.version).toBe("1.0.0");
  expect(body.data.after.prompt).toEqual({
    production: { version: "2.0.0" },
    tags: [{ version: "2.0.0" }],
    tagHistory: { nodes: [{ to: "2.0.0" }, { to: "1.0.0" }] },
  });
});

test("a change that changes nothing leaves no line in the audit log", async () => {
  await run(CREATE, { slug: "same", name: "Same" });
  await run('mutation { updatePrompt(slug: "same", input: { name: "Same" }) { prompt { slug } } }');
  expect(await run("{ auditLog(first: 1) { nodes { action } } }")).toEqual([{ action: "createPrompt" }]);
});

test("prompts of another workspace do not exist for any change", async () => {
  await addPrompt("mine");
  const changes = [
    'updatePrompt(slug: "mine", input: { name: "x" }) { prompt { slug } }',
    'deletePrompt(slug: "mine") { deletedPromptId }',
    'createPromptVersion(slug: "mine", input: {version: "9", text: "x"}) { warnings { message } }',
    'publishPrompt(slug: "mine", input: { newTag: "production", to: { version: "2.0.0" } }) { promptTag { id } }',
    'removePromptTag(slug: "mine", input: { tag: "production" }) { deletedPromptTagId }',
    'rollbackPromptTag(slug: "mine", input: { tag: "production" }) { promptTag { id } }',
    'setTagProtection(slug: "mine", input: { tag: "production", protected: true }) { protectedTags }',
  ];
  for (const change of changes) {
    expect(await run(`mutation { ${change} }`, {}, other.token)).toMatchObject({
      error: { code: "PROMPT_NOT_FOUND" },
    });
  }
  expect(await run('{ prompts(search: "mine") { nodes { slug } } }', {}, other.token)).toEqual([]);
  expect((await server.get("/prompts/mine")).body.prompt.version).toBe("1.0.0");
  expect(await run(CREATE, { slug: "mine" }, other.token)).toMatchObject({ slug: "mine" });
});

test("two versions of one name made at once are one version and one CONFLICT", async () => {
  await run(CREATE, { slug: "raced" });
  const make = () => run(VERSION, { slug: "raced", input: { version: "1", text: "x" } });
  const results = await Promise.all([make(), make(), make()]);
  expect(results.filter((result) => (result as { error?: unknown }).error)).toHaveLength(2);
  expect((await server.get("/prompts/raced/describe")).body.prompt.availableVersions).toEqual(["1"]);
});

test("every change leaves a line in the audit log: who, what, before and after, without secrets", async () => {
  await addPrompt("audited");
  await run(
    'mutation { updatePrompt(slug: "audited", input: { name: "New" }) { prompt { slug } } }',
    {},
    writer,
  );
  const made = await run(
    'mutation { createAccessToken(input: { name: "audit-test", scopes: [READ] }) { token accessToken { id name scopes } } }',
  );
  await run(`mutation { revokeAccessToken(id: "${made.accessToken.id}") { accessToken { revokedAt } } }`);
  const entries = await run("{ auditLog(first: 7) { nodes { id at token action subject before after } } }");
  expect(entries.map(({ action }: { action: string }) => action)).toEqual([
    "revokeAccessToken",
    "createAccessToken",
    "updatePrompt",
    "publishPrompt",
    "createPromptVersion",
    "createPromptVersion",
    "createPromptVersion",
  ]);
  expect(entries[2]).toMatchObject({
    token: "test",
    subject: "audited",
    before: { name: "audited" },
    after: { name: "New" },
  });
  expect(entries[3]).toMatchObject({
    token: "first",
    before: { production: null },
    after: { production: "1.0.0" },
  });
  expect(JSON.stringify(entries)).not.toContain(made.token);
  const next = await run(
    `{ auditLog(first: 1, after: "${toCursor(entries[6]!.id)}") { nodes { action subject } } }`,
  );
  expect(next).toEqual([{ action: "createPrompt", subject: "audited" }]);
  expect(await run("{ auditLog { nodes { id } } }", {}, other.token)).not.toContainEqual(entries[0]);
});

test("the audit log has the one tag whose protection changes, not all that are protected", async () => {
  await addPrompt("protections");
  await addDataset(server, { slug: "protections", columns: [{ name: "a", type: "text" }] });
  for (const mutation of ["setTagProtection", "setDatasetTagProtection"]) {
    const protect = (tag: string) =>
      run(
        `mutation { ${mutation}(slug: "protections", input: { tag: "${tag}", protected: true }) { __typename } }`,
      );
    for (const tag of ["one", "two", "two"]) await protect(tag);
    const entry = (tag: string) => ({
      ...{ action: mutation, subject: "protections" },
      ...{ before: { tag, protected: false }, after: { tag, protected: true } },
    });
    const entries = await run("{ auditLog(first: 3) { nodes { action subject before after } } }");
    expect(entries.slice(0, 2)).toEqual([entry("two"), entry("one")]);
    expect(entries[2].action).not.toBe(mutation);
  }
});

test("a token gives another no scope that it lacks itself", async () => {
  const { token: admin } = await addToken(server, { scopes: ["admin", "read"] });
  const make = (scopes: string) =>
    run(
      `mutation { createAccessToken(input: { name: "t", scopes: [${scopes}] }) { accessToken { scopes } } }`,
      {},
      admin,
    );
  const before = await run("{ accessTokens { nodes { id } } }");
  for (const scopes of ["WRITE", "READ, PUBLISH", "ADMIN, READ, WRITE, PUBLISH"])
    expect(await make(scopes)).toEqual({
      error: {
        code: "FORBIDDEN",
        message: expect.stringMatching(
          /^This access token lacks the scope "(?:write|publish)", so it cannot/,
        ),
      },
    });
  expect(await run("{ accessTokens { nodes { id } } }")).toEqual(before);
  expect(await make("ADMIN, READ")).toEqual({ accessToken: { scopes: ["ADMIN", "READ"] } });
});

test("a token has each scope once, however often it is named", async () => {
  const made = await run(
    'mutation { createAccessToken(input: { name: "twice", scopes: [READ, ADMIN, READ, ADMIN] }) { token accessToken { scopes } } }',
  );
  expect(made.accessToken.scopes).toEqual(["READ", "ADMIN"]);
  const audited = await run("{ auditLog(first: 1) { nodes { after } } }");
  expect(audited).toMatchObject([{ after: { name: "twice", scopes: ["read", "admin"] } }]);
});

test("a token made over GraphQL works until it is revoked, and is listed without its secret", async () => {
  const made = await run(
    'mutation { createAccessToken(input: { name: "made", scopes: [READ], expiresAt: "2999-01-01" }) { token accessToken { id expiresAt } } }',
  );
  expect((await server.get("/prompts", { token: made.token })).status).toBe(200);
  const listed = await run("{ accessTokens { nodes { id name scopes revokedAt lastUsedAt } } }");
  expect(listed.find(({ id }: { id: string }) => id === made.accessToken.id)).toMatchObject({
    name: "made",
    scopes: ["READ"],
    revokedAt: null,
  });
  expect(
    await run(
      `mutation { revokeAccessToken(id: "${made.accessToken.id}") { accessToken { name } } }`,
      {},
      other.token,
    ),
  ).toMatchObject({ error: { code: "TOKEN_NOT_FOUND" } });
  expect(
    await run(
      'mutation { createAccessToken(input: { name: "x", scopes: [READ], expiresAt: "2001-01-01" }) { token } }',
    ),
  ).toMatchObject({ error: { details: [{ path: "expiresAt", message: "must be in the future" }] } });
});
