import { afterAll, expect, test } from "vitest";
import { logPromptAnswer } from "../../src/logs/rest.ts";
import { addPrompt, model } from "../support/data.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

await addPrompt(server, {
  slug: "live",
  versions: [
    { version: "1.0.0", model: model("openai", "gpt-4o-mini") },
    { version: "o3", model: model("openai", "o3") },
    { version: "2.0.0", model: model("nobody", "a-model-that-nobody-prices") },
  ],
  tags: { production: "1.0.0", staging: "2.0.0" },
});
await addPrompt(server, {
  slug: "draft",
  versions: [{ version: "0.1.0", model: model("openai", "gpt-4o") }],
});
await addPrompt(server, { slug: "bare" });

const READ = `query($id: ID!) { log(id: $id) {
  id type input output idealOutput variables { label value } startTime endTime latencyMs inputTokens outputTokens
  totalTokens cost costSource model prompt { slug } promptVersion { version } tag version metadata
  trace { id name organization { id name } user { id name } metadata startTime endTime logs { nodes { id } } }
} }`;

/** Logs over REST and reads back by GraphQL what was recorded. */
async function logged(record: Record<string, unknown>) {
  const { status, body } = await server.post("/monitor/log", { slug: "live", output: "ok", ...record });
  expect(status).toBe(200);
  const { trace, log, warning } = logPromptAnswer.strict().parse(body);
  const read = (await server.graphql(READ, { id: log.id })).body;
  expect(read.errors).toBeUndefined();
  expect(read.data.log.trace.id).toBe(trace.id);
  return { ...read.data.log, warning };
}

test("a whole record is kept as it was sent, as one trace with one log in it", async () => {
  const record = {
    name: "checkout",
    version: "2.0.0",
    input: { messages: [{ role: "user", content: "Hi" }] },
    output: ["a", { kind: "tool", n: 1.5 }, null],
    idealOutput: false,
    variables: [
      { label: "country", value: "Kenya" },
      { label: "tone", value: null },
    ],
    startTime: "2026-01-31T10:30:00.250+01:00",
    endTime: 1769851801500,
    inputTokens: 11,
    outputTokens: 7,
    cost: 0.25,
    organization: { id: "o-1", name: "Acme" },
    user: { id: "u-1", name: null },
    metadata: { kind: "x", deep: { a: [1] } },
  };
  expect(await logged(record)).toEqual({
    id: expect.any(String),
    type: "GENERATION",
    input: record.input,
    output: record.output,
    idealOutput: false,
    variables: record.variables,
    startTime: "2026-01-31T09:30:00.250Z",
    endTime: "2026-01-31T09:30:01.500Z",
    latencyMs: 1250,
    inputTokens: 11,
    outputTokens: 7,
    totalTokens: 18,
    cost: 0.25,
    costSource: "REPORTED",
    model: "a-model-that-nobody-prices",
    prompt: { slug: "live" },
    promptVersion: { version: "2.0.0" },
    tag: null,
    version: "2.0.0",
    metadata: record.metadata,
    trace: {
      id: expect.any(String),
      name: "checkout",
      organization: { id: "o-1", name: "Acme" },
      user: { id: "u-1", name: null },
      metadata: record.metadata,
      startTime: "2026-01-31T09:30:00.250Z",
      endTime: "2026-01-31T09:30:01.500Z",
      logs: { nodes: [{ id: expect.any(String) }] },
    },
    warning: null,
  });
});

test.each([
  ["a string", "hello"],
  ["the empty string", ""],
  ["a number", 0],
  ["false", false],
  ["a list", []],
  ["an object", { $ne: null }],
  ["a text that looks like a number", "1e2"],
])("any JSON but null is an output and comes back as it was: %s", async (_, output) => {
  expect((await logged({ output })).output).toEqual(output);
});

test.each([
  ["-0", 0],
  ["-0.0", 0],
  ["0.10000000000000000001", 0.1],
  ["1.5E2", 150],
])(
  "a number comes back as the nearest of 64 bits, and without the sign of zero: %s",
  async (text, output) => {
    const body = `{ "slug": "live", "output": ${text} }`;
    const { id } = (await server.post("/monitor/log", body)).body.log;
    const byGraphql = await server.run(
      `mutation { logPrompt(input: { slug: "live", output: ${text} }) { log { id } } }`,
    );
    for (const logId of [id, byGraphql.log.id])
      expect(await server.run(`{ log(id: "${logId}") { output } }`)).toEqual({ output });
  },
);

const noVersion = (what: string) =>
  `Prompt "live" has no ${what}; the production version "1.0.0" was used instead.`;

test.each([
  ["neither", "live", {}, "1.0.0", "production", null],
  ["a version", "live", { version: "2.0.0" }, "2.0.0", null, null],
  ["a tag", "live", { tag: "staging" }, "2.0.0", "staging", null],
  ["latest", "live", { tag: "latest" }, "2.0.0", "latest", null],
  ["both", "live", { version: "1.0.0", tag: "staging" }, "1.0.0", null, null],
  ["empty strings", "live", { version: "", tag: "" }, "1.0.0", "production", null],
  ["nulls", "live", { version: null, tag: null }, "1.0.0", "production", null],
  ["an unknown version", "live", { version: "9" }, "1.0.0", "production", noVersion('version "9"')],
  ["an unknown tag", "live", { tag: "x" }, "1.0.0", "production", noVersion('tag "x"')],
  ["no production version", "draft", {}, null, null, 'Prompt "draft" has no production version.'],
  ["a version of a draft", "draft", { version: "0.1.0" }, "0.1.0", null, null],
  ["a prompt without versions", "bare", {}, null, null, 'Prompt "bare" has no production version.'],
])(
  "a log is tied to the version that served, and the warning says what was missing: %s",
  async (_, slug, choice, version, tag, warning) => {
    expect(await logged({ slug, ...choice })).toMatchObject({
      version,
      prompt: { slug },
      promptVersion: version === null ? null : { version },
      tag,
      warning,
    });
  },
);

test("a record of a prompt that does not exist is kept, unlinked, with a warning", async () => {
  const log = await logged({ slug: "ghost" });
  expect(log).toMatchObject({ prompt: null, version: null, model: null, trace: { name: "ghost" } });
  expect(log.warning).toBe('Prompt "ghost" does not exist; the log was kept without a link to a prompt.');
});

test.each([
  ["ghost", "version 1", { version: "1", tag: "x" }, /^Prompt "ghost" does not exist/],
  ["draft", "an unknown tag", { tag: "x" }, /^Prompt "draft" has no tag "x" and no production version\.$/],
  ["draft", "version 9", { version: "9" }, /^Prompt "draft" has no version "9" and no production version\.$/],
])(
  "a log keeps what it names where nothing serves, as in a trace: of %s %s",
  async (slug, _, choice, warning) => {
    const kept = { version: null, tag: null, ...choice };
    const log = await logged({ slug, ...choice });
    expect(log).toMatchObject({ ...kept, promptVersion: null, warning: expect.stringMatching(warning) });
    const prompt = { slug, ...choice };
    const { body } = await server.post("/monitor/trace", { logs: [{ id: "1", type: "generation", prompt }] });
    const query = "query($id: ID!) { trace(id: $id) { logs { nodes { version tag } } } }";
    expect(await server.run(query, { id: body.trace.id })).toEqual({ logs: [kept] });
  },
);

test.each([
  ["its name", { name: "checkout" }, "checkout"],
  ["the prompt's slug without one", {}, "live"],
  ["the prompt's slug for null", { name: null }, "live"],
  ["the prompt's slug for the empty string", { name: "" }, "live"],
])("a trace is named by %s", async (_, record, name) => {
  expect((await logged(record)).trace.name).toBe(name);
});

const start = "2026-01-31T09:30:00.000Z";
test.each([
  [
    "both as ISO 8601",
    { startTime: start, endTime: "2026-01-31T09:30:02.500Z" },
    start,
    "2026-01-31T09:30:02.500Z",
    2500,
  ],
  [
    "both as epoch milliseconds",
    { startTime: 1769851800000, endTime: 1769851800001.9 },
    start,
    "2026-01-31T09:30:00.001Z",
    1,
  ],
  ["no zone is UTC", { startTime: "2026-01-31T09:30:00" }, start, null, null],
  ["an offset", { startTime: "2026-01-31T15:00:00+05:30" }, start, null, null],
  ["microseconds, as Python writes them", { startTime: "2026-01-31T09:30:00.000999" }, start, null, null],
  ["a date alone", { startTime: "2026-01-31" }, "2026-01-31T00:00:00.000Z", null, null],
  ["only the end", { endTime: start }, start, start, null],
  ["an empty start", { startTime: "", endTime: start }, start, start, null],
  ["the same moment", { startTime: start, endTime: start }, start, start, 0],
  ["minutes", { startTime: "2026-01-31T09:30Z" }, start, null, null],
  ["a space for the T, as Python writes it", { startTime: "2026-01-31 09:30:00+00:00" }, start, null, null],
  ["a zone without a colon", { startTime: "2026-01-31T10:30:00+0100" }, start, null, null],
  ["a zone of hours", { startTime: "2026-01-31T10:30:00+01" }, start, null, null],
  ["lower case", { startTime: "2026-01-31t09:30:00z" }, start, null, null],
  ["a leap day", { startTime: "2028-02-29T00:00:00Z" }, "2028-02-29T00:00:00.000Z", null, null],
  ["before 1970", { startTime: -1 }, "1969-12-31T23:59:59.999Z", null, null],
])("times are understood: %s", async (_, record, startTime, endTime, latencyMs) => {
  expect(await logged(record)).toMatchObject({
    startTime,
    endTime,
    latencyMs,
    trace: { startTime, endTime },
  });
});

test("a record without times starts when it arrives", async () => {
  const before = Date.now();
  const { startTime, endTime } = await logged({ startTime: null, endTime: "" });
  expect(Date.parse(startTime)).toBeGreaterThanOrEqual(before);
  expect(Date.parse(startTime)).toBeLessThanOrEqual(Date.now());
  expect(endTime).toBeNull();
});

test.each([
  [
    "counted from texts, priced by the model",
    { input: "hello world", output: "hello" },
    [2, 1, 3, 2 * 0.15e-6 + 1 * 0.6e-6, "COMPUTED"],
  ],
  [
    "counted from JSON as compact text",
    { input: { a: 1 }, output: [1] },
    [5, 3, 8, 5 * 0.15e-6 + 3 * 0.6e-6, "COMPUTED"],
  ],
  [
    "reported counts win",
    { input: "hello world", inputTokens: 1000, outputTokens: 0 },
    [1000, 0, 1000, 0.15e-3, "COMPUTED"],
  ],
  [
    "the price at the time of the call",
    { version: "o3", inputTokens: 1_000_000, outputTokens: 0, startTime: "2025-05-01" },
    [1_000_000, 0, 1_000_000, 10, "COMPUTED"],
  ],
  [
    "the price at another time",
    { version: "o3", inputTokens: 1_000_000, outputTokens: 0, startTime: "2026-01-01" },
    [1_000_000, 0, 1_000_000, 2, "COMPUTED"],
  ],
  ["a reported cost wins", { input: "hello", output: "hello", cost: 0 }, [1, 1, 2, 0, "REPORTED"]],
  ["no input to count", { output: "hello" }, [null, 1, null, null, "UNPRICED"]],
  [
    "a model without a price",
    { version: "2.0.0", input: "hello", output: "hello" },
    [1, 1, 2, null, "UNPRICED"],
  ],
  [
    "a prompt that does not exist",
    { slug: "ghost", input: "hello", output: "hello" },
    [1, 1, 2, null, "UNPRICED"],
  ],
])(
  "tokens and cost are completed: %s",
  async (_, record, [inputTokens, outputTokens, totalTokens, cost, costSource]) => {
    const log = await logged(record);
    expect(log).toMatchObject({ inputTokens, outputTokens, totalTokens, costSource });
    if (cost === null) expect(log.cost).toBeNull();
    else expect(log.cost).toBeCloseTo(cost as number, 12);
  },
);

test.each([
  ["an empty id counts as nobody", { user: { id: "", name: "x" }, organization: { id: "" } }, null, null],
  ["null is nobody", { user: null, organization: null }, null, null],
  [
    "a missing name is null",
    { user: { id: "u" }, organization: { id: "o", name: "O" } },
    { id: "u", name: null },
    { id: "o", name: "O" },
  ],
])("user and organization are understood: %s", async (_, record, user, organization) => {
  expect((await logged(record)).trace).toMatchObject({ user, organization });
});

test("members that nobody knows are ignored by REST", async () => {
  const log = await logged({
    isPlayground: true,
    id: "mine",
    workspace: "theirs",
    createdAt: 0,
    costSource: "REPORTED",
  });
  expect(log.id).not.toBe("mine");
  expect(log.costSource).toBe("UNPRICED");
});

test.each(["trace", "log"])("reading a %s that does not exist is an error that says so", async (kind) => {
  const id = "01890a5d-ac96-774b-bcce-b302099a8057";
  const { body } = await server.graphql(`query($id: ID!) { ${kind}(id: $id) { id } }`, { id });
  expect(body).toMatchObject({
    data: { [kind]: null },
    errors: [{ extensions: { code: `${kind.toUpperCase()}_NOT_FOUND` } }],
  });
});

test.each([
  [
    "traces",
    "trace",
    "{ id logs(first: 1) { nodes { id prompt { slug availableVersions } promptVersion { variables { label } } trace { id logs(first: 1) { nodes { id } } } } } }",
  ],
  [
    "logs",
    "log",
    "{ id trace { id name logs(first: 1) { nodes { id } } } prompt { slug } promptVersion { variables { label } } }",
  ],
] as const)("a query over many %s costs as many statements as one over few", async (_, root, fields) => {
  const ids: string[] = [];
  for (let n = 0; n < 20; n++) {
    const record = {
      slug: n % 2 ? "live" : "draft",
      output: n,
      tag: "latest",
      inputTokens: 1,
      outputTokens: 1,
    };
    ids.push((await server.post("/monitor/log", record)).body[root].id);
  }
  const statementsFor = (wanted: string[]) =>
    countStatements(async () => {
      const query = `{ ${wanted.map((id, n) => `a${n}: ${root}(id: "${id}") ${fields}`).join(" ")} }`;
      const { body } = await server.graphql(query);
      expect(body.errors).toBeUndefined();
      expect(Object.values<{ id: string }>(body.data).map(({ id }) => id)).toEqual(wanted);
    });
  await statementsFor(ids.slice(0, 1)); // the token, too, is cached from then on
  const few = await statementsFor(ids.slice(0, 2));
  expect(few).toBeGreaterThan(3);
  expect(await statementsFor(ids)).toBe(few);
});

/** How many statements the connections of the database run meanwhile. */
async function countStatements(run: () => Promise<void>): Promise<number> {
  const stop = await captureStatements(server);
  await run();
  return stop().length;
}
