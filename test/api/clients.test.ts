import { Template } from "@huggingface/jinja";
import { afterAll, expect, test } from "vitest";
import { startServer } from "../support/server.ts";

// What the published JavaScript client (@basalt-ai/sdk, github.com/basalt-ai/basalt-js) puts on the wire and looks at in
// the answers, found by reading it: lower-case methods, these headers also on reads, parameters that are undefined left
// out and empty ones sent, the body written with JSON.stringify, every answer read as JSON, `error` shown as it is.

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());
const run = (operation: string) => server.run(`mutation { ${operation} }`);

await run(
  'createPrompt(input: { slug: "greeting", name: "Greeting", featureSlug: "onboarding" }) { prompt { slug } }',
);
await run(
  'createPromptVersion(slug: "greeting", input: {version: "1.0.0", text: "Greet {{ name }}.", systemText: "Be {{ tone }}.", model: {model: "gpt-4o-mini", provider: "openai", parameters: {temperature: 0.5}}}) { warnings { message } }',
);
await run(
  'createPromptVersion(slug: "greeting", input: {version: "1.1.0", text: "Hi {{ name }}"}) { warnings { message } }',
);
await run(
  'publishPrompt(slug: "greeting", input: { newTag: "production", to: { version: "1.0.0" } }) { promptTag { id } }',
);

type Read = Record<string, unknown>;
interface Call {
  path: string;
  method: "get" | "post";
  query?: Record<string, string | undefined>;
  body?: string;
}

async function send({ path, method, query = {}, body }: Call, token = server.token): Promise<Read> {
  const url = new URL(server.url);
  url.pathname = path;
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.append(name, value);
  const headers = {
    Accept: "application/json",
    "Content-Type": "application/json",
    Authorization: `Bearer ${token}`,
    "X-BASALT-SDK-VERSION": "1.1.0",
    "X-BASALT-SDK-TYPE": "production",
    traceparent: "00-11111111111111111111111111111111-2222222222222222-01",
  };
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body }) });
  const json = (await response.json()) as Read;
  return response.status >= 400 ? { failed: response.status, error: json.error } : json;
}

const prompt = {
  get: async (slug: string, { variables = {}, ...choice }: Record<string, unknown> = {}) => {
    const answer = await send({ path: `/prompts/${slug}`, method: "get", query: choice as Call["query"] });
    if (answer.failed) return answer;
    const found = answer.prompt as Read;
    for (const name of ["text", "systemText", "version"]) expect(found[name]).toBeTypeOf("string");
    expect(found.model).toBeTypeOf("object");
    expect(found.model).not.toBeNull();
    const filled = (text: unknown) => new Template(text as string).render(variables as Read);
    return { ...answer, text: filled(found.text), systemText: filled(found.systemText) };
  },
  list: (featureSlug?: string) => send({ path: "/prompts", method: "get", query: { featureSlug } }),
  describe: (slug: string, choice: Call["query"] = {}) =>
    send({ path: `/prompts/${slug}/describe`, method: "get", query: choice }),
};

const dataset = {
  list: () => send({ path: "/datasets", method: "get" }),
  get: (slug: string) => send({ path: `/datasets/${slug}`, method: "get" }),
  addRow: async (slug: string, { name, values, idealOutput, metadata, isPlayground }: Read) => {
    const body = JSON.stringify({ name, values, idealOutput, metadata, isPlayground });
    const answer = await send({ path: `/datasets/${slug}/items`, method: "post", body });
    if (answer.failed) return answer;
    const row = answer.datasetRow as Read;
    // It takes no other answer for one: a name must be a string when it is there, null is none.
    expect(row.values).toBeTypeOf("object");
    if ("name" in row) expect(row.name).toBeTypeOf("string");
    if (row.idealOutput != null) expect(row.idealOutput).toBeTypeOf("string");
    if (row.metadata !== undefined) expect(row.metadata).toBeTypeOf("object");
    return answer;
  },
};

test("prompt.get: the text of the production version, filled in as the client does it", async () => {
  const got = await prompt.get("greeting", { variables: { name: "Amina", tone: "kind" } });
  expect(got).toEqual({
    prompt: {
      slug: "greeting",
      text: "Greet {{ name }}.",
      systemText: "Be {{ tone }}.",
      version: "1.0.0",
      tag: "production",
      model: {
        provider: "openai",
        client: expect.any(String),
        model: "gpt-4o-mini",
        version: expect.any(String),
        parameters: expect.objectContaining({ temperature: 0.5 }),
      },
    },
    text: "Greet Amina.",
    systemText: "Be kind.",
  });
  const { parameters } = (got.prompt as { model: { parameters: Read } }).model;
  expect(Object.keys(parameters)).toEqual(
    expect.arrayContaining(["temperature", "topP", "maxLength", "responseFormat"]),
  );
});

test.each<[string, Record<string, string | undefined>, object]>([
  [
    "a version",
    { version: "1.1.0" },
    { text: "Hi Amina", systemText: "", prompt: { version: "1.1.0", tag: "" } },
  ],
  ["a tag", { tag: "latest" }, { prompt: { version: "1.1.0", tag: "latest" } }],
  ["neither", { version: undefined, tag: undefined }, { prompt: { version: "1.0.0" } }],
  ["empty ones", { version: "", tag: "" }, { prompt: { version: "1.0.0" } }],
  [
    "a tag that is not there",
    { tag: "nope" },
    { prompt: { version: "1.0.0" }, warning: expect.stringContaining('"nope"') },
  ],
])("prompt.get with %s", async (_, choice, expected) => {
  expect(await prompt.get("greeting", { ...choice, variables: { name: "Amina" } })).toMatchObject(expected);
});

test("prompt.list: all prompts, or those of a feature", async () => {
  const { prompts } = await prompt.list();
  expect((prompts as Read[]).map(({ slug }) => slug)).toEqual([
    "country-guide",
    "flag-describer",
    "greeting",
  ]);
  expect(await prompt.list("onboarding")).toEqual({
    prompts: [
      {
        slug: "greeting",
        name: "Greeting",
        status: "live",
        description: null,
        availableVersions: ["1.0.0", "1.1.0"],
        availableTags: ["latest", "production"],
      },
    ],
  });
  expect(await prompt.list("no-such-feature")).toEqual({ prompts: [] });
});

test("prompt.describe: what it is, its versions, tags and variables", async () => {
  expect(await prompt.describe("greeting")).toMatchObject({
    prompt: {
      slug: "greeting",
      name: "Greeting",
      status: "live",
      availableVersions: ["1.0.0", "1.1.0"],
      availableTags: ["latest", "production"],
      variables: [
        { label: "name", type: "string" },
        { label: "tone", type: "string" },
      ],
    },
  });
  const { prompt: newest } = await prompt.describe("greeting", { version: "1.1.0", tag: undefined });
  expect((newest as { variables: unknown[] }).variables).toHaveLength(1);
});

test("dataset.list and dataset.get: columns with their names and types, rows with their values", async () => {
  const { datasets } = await dataset.list();
  expect(datasets).toEqual([
    {
      slug: "country-quiz",
      name: "Country quiz",
      columns: [
        { name: "question", type: "text" },
        { name: "flag", type: "image" },
        { name: "facts", type: "json" },
      ],
    },
  ]);
  const { dataset: found } = await dataset.get("country-quiz");
  const { slug, name, columns, rows } = found as Read & { rows: Read[] };
  expect({ slug, name, columns }).toEqual((datasets as Read[])[0]);
  expect(rows.length).toBeGreaterThan(10);
  expect(rows[0]).toEqual({
    id: expect.any(String),
    values: expect.objectContaining({ question: expect.any(String) }),
    idealOutput: expect.any(String),
    metadata: expect.any(Object),
  });
});

test.each<[string, Read, Read]>([
  [
    "everything",
    {
      name: "a row",
      values: { question: "Which country?" },
      idealOutput: "Kenya",
      metadata: { source: "client" },
      isPlayground: false,
    },
    { datasetRow: { name: "a row", idealOutput: "Kenya", metadata: { source: "client" } } },
  ],
  ["values alone", { values: { question: "Which?" } }, { datasetRow: { values: { question: "Which?" } } }],
  [
    "a column that is not there",
    { values: { question: "Which?", colour: "red" }, isPlayground: true },
    {
      datasetRow: { values: { question: "Which?" } },
      warning: "The following columns do not exist in the dataset and were omitted: colour",
    },
  ],
])("dataset.addRow with %s", async (_, row, expected) => {
  expect(await dataset.addRow("country-quiz", row)).toMatchObject(expected);
});

test("dataset.addRow with a file: its bytes are uploaded to the URL of the answer, and its key is the value", async () => {
  const body = JSON.stringify({ fileName: "map.png", contentType: "image/png", sizeBytes: 4 });
  const answer = await send({ path: "/files/generate-upload-url", method: "post", body });
  const { uploadUrl, fileKey, expiresAt, maxSizeBytes } = answer;
  for (const text of [uploadUrl, fileKey, expiresAt]) expect(text).toBeTypeOf("string");
  expect(maxSizeBytes).toBeTypeOf("number");
  const headers = { "Content-Type": "image/png", "Content-Length": "4" };
  const upload = await fetch(uploadUrl as string, {
    method: "PUT",
    headers,
    body: Buffer.from("\x89PNG", "latin1"),
  });
  expect(upload.ok).toBe(true);
  const added = await dataset.addRow("country-quiz", { values: { question: fileKey } });
  expect(added).toMatchObject({ datasetRow: { values: { question: fileKey } } });
});

test("what fails comes with a sentence that the client can show", async () => {
  const failures = [
    await prompt.get("nope"),
    await prompt.describe("nope"),
    await dataset.get("nope"),
    await dataset.addRow("nope", { values: {} }),
    await dataset.addRow("country-quiz", {}),
    await send({ path: "/prompts", method: "get" }, "gab-not-a-token-of-this-service"),
  ];
  expect(failures.map(({ failed }) => failed)).toEqual([404, 404, 404, 404, 400, 401]);
  for (const { error } of failures) expect(error).toMatch(/\w.*\.$/);
});

test("clients that fill in only variables written without spaces fill in the whole sample", async () => {
  const { prompts } = (await server.get("/prompts")).body;
  const samples = prompts.filter(({ slug }: Read) => slug === "country-guide" || slug === "flag-describer");
  expect(samples).toHaveLength(2);
  for (const { slug, availableVersions } of samples)
    for (const version of availableVersions) {
      const { body } = await server.get(`/prompts/${slug}?version=${version}`);
      expect(body.prompt.text).toMatch(/\{\{\w+\}\}/);
      expect(body.prompt.text.replace(/\{\{\w+\}\}/g, "x")).not.toContain("{");
    }
});
