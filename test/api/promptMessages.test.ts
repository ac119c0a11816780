import { afterAll, expect, test } from "vitest";
import { servedPromptAnswer } from "../../src/prompts/reading.rest.ts";
import { addWorkspace } from "../support/data.ts";
import { createRandom } from "../support/random.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const { run } = server;

const MADE =
  "promptVersion { text systemText messages { role content name placeholder } variables { label } }";
const VERSION = `mutation($slug: String!, $input: PromptVersionInput!) {
  createPromptVersion(slug: $slug, input: $input) { ${MADE} warnings { code message path } }
}`;
const RENDER = `query($slug: String!, $variables: [PromptVariableValue!], $placeholders: [PlaceholderValue!]) {
  renderPrompt(slug: $slug, version: "1", variables: $variables, placeholders: $placeholders) {
    text systemText messages { role content name } warnings { code message path }
    prompt { slug } promptVersion { version messages { placeholder } }
  }
}`;

let count = 0;
/** A new prompt with one version, `1`. */
async function addVersion(input: object) {
  const slug = `prompt-${count++}`;
  await run("mutation($slug: String!) { createPrompt(input: { slug: $slug }) { prompt { id } } }", { slug });
  return { slug, made: await run(VERSION, { slug, input: { version: "1", ...input } }) };
}

const system = { role: "system", content: "You help {{ company }}." };
const user = { role: "user", content: "Hello, I am {{ name }}." };
const assistant = { role: "assistant", content: "Hello {{ name }}!", name: "bot" };
const history = { placeholder: "history" };
const nothing = { role: null, content: null, name: null, placeholder: null };
const JOINED = {
  code: "MESSAGES_JOINED",
  message: "The text shows several messages as one, each under its role; use the messages where you can.",
  path: "messages",
};

test.each<[string, object[], { text: string; systemText: string | null }, object[]]>([
  ["a message of the user", [user], { text: user.content, systemText: null }, []],
  [
    "a system message and one of the user",
    [system, user],
    { text: user.content, systemText: system.content },
    [],
  ],
  [
    "several messages",
    [system, user, history, assistant],
    {
      text: "user:\nHello, I am {{ name }}.\n\n[history]\n\nassistant (bot):\nHello {{ name }}!",
      systemText: system.content,
    },
    [JOINED],
  ],
  [
    "a system message that does not lead",
    [user, system],
    { text: "user:\nHello, I am {{ name }}.\n\nsystem:\nYou help {{ company }}.", systemText: null },
    [JOINED],
  ],
  ["nothing but a system message", [system], { text: "", systemText: system.content }, [JOINED]],
  ["a placeholder alone", [history], { text: "[history]", systemText: null }, [JOINED]],
])("a version of %s has texts for clients that know no messages", async (_, messages, texts, warnings) => {
  const { slug, made } = await addVersion({ messages });
  expect(made.promptVersion).toMatchObject({
    ...texts,
    messages: messages.map((one) => ({ ...nothing, ...one })),
  });
  expect(made.warnings).toEqual(warnings);
  const { status, body } = await server.get(`/prompts/${slug}?version=1`);
  expect(status).toBe(200);
  servedPromptAnswer.strict().parse(body);
  expect(body.prompt).toMatchObject({ text: texts.text, systemText: texts.systemText ?? "", messages });
  expect(body.warning).toBe(warnings.length > 0 ? JOINED.message : undefined);
  const served = await run(
    `{ servedPrompt(slug: "${slug}", version: "1") { text systemText messages { role content name placeholder } } }`,
  );
  expect(served).toEqual({ ...texts, messages: messages.map((one) => ({ ...nothing, ...one })) });
});

test("a version without messages has null for them, and REST leaves them out", async () => {
  const { slug, made } = await addVersion({ text: "Hello" });
  expect(made.promptVersion.messages).toBeNull();
  expect((await server.get(`/prompts/${slug}?version=1`)).body.prompt).not.toHaveProperty("messages");
  const { messages } = await run(RENDER, { slug });
  expect(messages).toBeNull();
});

test("texts of its own stay beside the messages, and there is no warning", async () => {
  const { slug, made } = await addVersion({ text: "Own {{ a }}", messages: [user, assistant] });
  expect(made).toMatchObject({ promptVersion: { text: "Own {{ a }}", systemText: null }, warnings: [] });
  const rendered = await run(RENDER, { slug, variables: [{ label: "a", value: "1" }] });
  expect(rendered).toMatchObject({ text: "Own 1", messages: [{ role: "user" }, { role: "assistant" }] });
});

test("the variables of all messages are found, and declared ones are compared with them", async () => {
  const { made } = await addVersion({
    messages: [system, user],
    variables: [{ label: "company" }, { label: "unused" }],
  });
  expect(made.promptVersion.variables).toEqual([
    { label: "company" },
    { label: "unused" },
    { label: "name" },
  ]);
  expect(made.warnings.map(({ code }: { code: string }) => code)).toEqual([
    "VARIABLE_NOT_USED",
    "VARIABLE_NOT_DECLARED",
  ]);
});

test("rendering fills in every message, and puts the given ones in the place of a placeholder as they are", async () => {
  const { slug } = await addVersion({ messages: [system, history, user] });
  const rendered = await run(RENDER, {
    slug,
    variables: [
      { label: "name", value: "Amina" },
      { label: "company", value: "Acme" },
    ],
    placeholders: [
      {
        name: "history",
        messages: [
          { role: "user", content: "Hi {{ name }}" },
          { role: "assistant", content: "Hey", name: "b" },
        ],
      },
    ],
  });
  expect(rendered).toEqual({
    systemText: "You help Acme.",
    text: "user:\nHi {{ name }}\n\nassistant (b):\nHey\n\nuser:\nHello, I am Amina.",
    messages: [
      { role: "system", content: "You help Acme.", name: null },
      { role: "user", content: "Hi {{ name }}", name: null },
      { role: "assistant", content: "Hey", name: "b" },
      { role: "user", content: "Hello, I am Amina.", name: null },
    ],
    warnings: [JOINED],
    prompt: { slug },
    promptVersion: { version: "1", messages: [{ placeholder: null }, history, { placeholder: null }] },
  });
});

test("a placeholder that is not filled is left out, and each that does not match is a warning", async () => {
  const { slug } = await addVersion({ messages: [history, user, history] });
  const { messages, warnings } = await run(RENDER, {
    slug,
    variables: [{ label: "name", value: "A" }],
    placeholders: [{ name: "other", messages: [] }],
  });
  expect(messages).toEqual([{ role: "user", content: "Hello, I am A.", name: null }]);
  // Not that the text shows several messages: one is left.
  expect(warnings).toEqual([
    {
      code: "PLACEHOLDER_NOT_FILLED",
      message: "No messages were given for the placeholder history.",
      path: "placeholders",
    },
    {
      code: "PLACEHOLDER_NOT_USED",
      message: 'The prompt has no placeholder "other".',
      path: "placeholders",
    },
  ]);
});

test("versions are compared message by message, and texts that follow from messages are not compared twice", async () => {
  const { slug } = await addVersion({ messages: [system, user] });
  await run(VERSION, { slug, input: { version: "2", messages: [system, history, user] } });
  await run(VERSION, { slug, input: { version: "3", text: "plain" } });
  const diff = (from: string, to: string) =>
    run(`{ promptDiff(slug: "${slug}", from: "${from}", to: "${to}") }`);
  const added = await diff("1", "2");
  expect(added).toContain("--- 1/messages\n+++ 2/messages\n");
  expect(added).toContain("+[history]\n");
  expect(added).not.toContain("/text");
  const replaced = await diff("2", "3");
  expect(replaced).toContain("--- 2/messages\n+++ /dev/null\n");
  expect(replaced).toContain("--- /dev/null\n+++ 3/text\n");
});

test("content that looks like other messages differs from them", async () => {
  const looks = { role: "user", content: "Hi\n\nassistant:\nHo\n\n[history]" };
  const { slug } = await addVersion({ messages: [looks] });
  const are = [{ role: "user", content: "Hi" }, { role: "assistant", content: "Ho" }, history];
  await run(VERSION, { slug, input: { version: "2", messages: are } });
  const diff = await run(`{ promptDiff(slug: "${slug}", from: "1", to: "2") }`);
  expect(diff).toContain("-  assistant:\n");
  expect(diff).toContain("+assistant:\n");
  expect(diff).toContain("-  [history]\n+[history]\n");
});

test("a system text of its own leaves the text that of the messages", async () => {
  const { slug, made } = await addVersion({ systemText: "Be {{ mood }}.", messages: [user, assistant] });
  expect(made.warnings).toEqual([JOINED]);
  const values = ["name", "mood"].map((label) => ({ label, value: "kind" }));
  const { text, systemText, warnings } = await run(RENDER, { slug, variables: values });
  expect([systemText, text]).toEqual([
    "Be kind.",
    "user:\nHello, I am kind.\n\nassistant (bot):\nHello kind!",
  ]);
  expect(warnings).toEqual([JOINED]);
});

test.each<[string, object, string, RegExp]>([
  ["neither text nor messages", {}, "text", /^is required, or else messages$/],
  ["no messages at all", { messages: [] }, "messages", /^must not be empty$/],
  [
    "a message without a content",
    { messages: [{ role: "user" }] },
    "messages.0",
    /^must have role and content/,
  ],
  ["a message without a role", { messages: [{ content: "x" }] }, "messages.0", /^must have role and content/],
  [
    "both kinds at once",
    { messages: [{ ...user, ...history }] },
    "messages.0",
    /^must have role and content/,
  ],
  ["a placeholder with a name", { messages: [{ ...history, name: "x" }] }, "messages.0", /^must have role/],
  [
    "a role that is a template",
    { messages: [{ role: "{{ x }}", content: "x" }] },
    "messages.0.role",
    /letters/,
  ],
  ["a role of two lines", { messages: [{ role: "a\nb", content: "x" }] }, "messages.0.role", /letters/],
  [
    "a long role",
    { messages: [{ role: "r".repeat(129), content: "x" }] },
    "messages.0.role",
    /128 characters/,
  ],
  ["a placeholder of tags", { messages: [{ placeholder: "{% x %}" }] }, "messages.0.placeholder", /letters/],
  ["the character NUL", { messages: [{ role: "user", content: "\0" }] }, "messages.0.content", /NUL/],
  ["half a letter", { messages: [{ role: "user", content: "\ud800" }] }, "messages.0.content", /./],
  ["1,001 messages", { messages: Array(1_001).fill(user) }, "messages", /at most 1000 items/],
  [
    "more than 500,000 characters together",
    { messages: [user, { role: "user", content: "x".repeat(500_000) }] },
    "messages",
    /^must have at most 500,000 characters together$/,
  ],
  [
    "a message that is no template",
    { messages: [user, { role: "user", content: "a\n{{" }] },
    "messages.1.content",
    /^is not a valid template at line 2, column 1/,
  ],
])("%s is refused with its path, and nothing is stored", async (_, input, path, message) => {
  const { slug, made } = await addVersion(input);
  expect(made.error).toMatchObject({
    code: "BAD_INPUT",
    details: [{ path, message: expect.stringMatching(message) }],
  });
  expect((await server.get(`/prompts/${slug}/describe`)).body.prompt.availableVersions).toEqual([]);
});

test("a thousand messages are checked and rendered at once", async () => {
  const messages = Array.from({ length: 1_000 }, (_, n) => ({ role: "user", content: `${n} {{ name }}` }));
  const { slug } = await addVersion({ messages });
  const { messages: rendered } = await run(RENDER, { slug, variables: [{ label: "name", value: "x" }] });
  expect(rendered).toEqual(messages.map((_, n) => ({ role: "user", content: `${n} x`, name: null })));
});

test("messages that take too long to render together are refused, and the service goes on", async () => {
  const slow = "{% for a in range(1000) %}{% for b in range(1000) %}{% endfor %}{% endfor %}";
  const { slug } = await addVersion({ messages: Array(50).fill({ role: "user", content: slow }) });
  expect(await run(RENDER, { slug })).toMatchObject({
    error: { code: "BAD_INPUT", message: expect.stringContaining("takes more than a second") },
  });
  const filled = Array(1_001).fill({ role: "user", content: "x" });
  expect(await run(RENDER, { slug, placeholders: [{ name: "a", messages: filled }] })).toMatchObject({
    error: { code: "BAD_INPUT", details: [{ path: "placeholders.0.messages" }] },
  });
  expect((await server.get("/health")).status).toBe(200);
});

test("messages that would fill a thousand placeholders with more than an answer may have are refused", async () => {
  const { slug } = await addVersion({ messages: Array(1_000).fill(history) });
  const fill = (messages: object[]) => run(RENDER, { slug, placeholders: [{ name: "history", messages }] });
  expect((await fill([{ role: "user", content: "x" }])).messages).toHaveLength(1_000);
  expect(await fill([{ role: "user", content: "x".repeat(100_000) }])).toMatchObject({
    error: { code: "QUERY_TOO_COMPLEX", message: expect.stringContaining("larger than 32 MB") },
  });
});

test("given messages are inserted 10,000 times in all places", async () => {
  const { slug } = await addVersion({ messages: Array(1_000).fill(history) });
  const fill = (messages: object[]) => run(RENDER, { slug, placeholders: [{ name: "history", messages }] });
  const messages = Array(10).fill({ role: "user", content: "" });
  expect((await fill(messages)).messages).toHaveLength(10_000);
  expect(await fill([...messages, messages[0]])).toMatchObject({
    error: {
      code: "BAD_INPUT",
      details: [{ path: "placeholders", message: expect.stringContaining("11000 messages") }],
    },
  });
});

test("any messages come back as they were given, to their workspace only", async () => {
  const { below, oneOf, maybe } = createRandom(7);
  const other = await addWorkspace(server, "messages");
  const texts = ["", " ", "a\r\nb", "{{ x }}", "{% if y %}z{% endif %}", "😀", "__proto__", '"\\', "role:\n"];
  const message = () =>
    below(4) === 0
      ? { placeholder: oneOf(["history", "__proto__", "a.b-c_1", "ключ"]) }
      : {
          role: oneOf(["system", "developer", "user", "assistant", "tool", "constructor"]),
          content: Array.from({ length: below(4) }, () => oneOf(texts)).join(""),
          ...(maybe(0.3, () => true) && { name: oneOf(["bot", "A-1"]) }),
        };
  for (let n = 0; n < 40; n++) {
    const messages = Array.from({ length: 1 + below(6) }, message);
    const { slug, made } = await addVersion({ messages });
    const whole = messages.map((one) => ({ ...nothing, ...one }));
    expect(made.promptVersion.messages).toEqual(whole);
    const read = `{ prompt(slug: "${slug}") { latest { messages { role content name placeholder } } } }`;
    expect((await run(read)).latest.messages).toEqual(whole);
    expect(await run(read, {}, other.token)).toMatchObject({ error: { code: "PROMPT_NOT_FOUND" } });
  }
});

test("tools and response format are kept with the parameters of the model, by both APIs", async () => {
  const parameters = {
    temperature: 0,
    responseFormat: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
    tools: [{ type: "function", function: { name: "search", parameters: { type: "object" } } }],
  };
  const { slug } = await addVersion({ messages: [user], model: { model: "gpt-4o", parameters } });
  const { body } = await server.get(`/prompts/${slug}?version=1`);
  expect(body.prompt.model.parameters).toEqual({ ...parameters, topP: 1, maxLength: 0 });
  const { latest } = await run(`{ prompt(slug: "${slug}") { latest { model { parameters } } } }`);
  expect(latest.model.parameters).toEqual(parameters);
});
