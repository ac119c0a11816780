import { afterAll, expect, test } from "vitest";
import { schema } from "../../src/schema.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { checkErrorsAreNamed, codesOf } from "../support/errorCodes.ts";
import { subscribe } from "../support/events.ts";
import { addLogs, removeWhileStored } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
await addDataset(server, { slug: "rows", columns: [{ name: "a", type: "text" }], rows: [] });
await addPrompt(server, { slug: "guide", versions: [{ version: "1" }] });
await addPrompt(server, { slug: "draft", versions: [] });

const none = "01a20000-0000-7000-8000-000000000000";

/** Requests for each field that gives errors of its own, by their codes. */
const requests: Record<string, Record<string, string>> = {
  addDatasetItem: { DATASET_NOT_FOUND: '(slug: "no", input: { values: {} }) { warning }' },
  addDatasetItems: { DATASET_NOT_FOUND: '(slug: "no", input: { items: [] }) { errors { code } }' },
  addLogToDataset: {
    LOG_NOT_FOUND: `(slug: "rows", input: { logId: "${none}" }) { datasetRow { id } }`,
    DATASET_NOT_FOUND: '(slug: "no", input: { logId: "<log>" }) { datasetRow { id } }',
  },
  createDataset: { CONFLICT: '(input: { slug: "rows", columns: [] }) { dataset { id } }' },
  createPrompt: { CONFLICT: '(input: { slug: "guide" }) { prompt { id } }' },
  createPromptVersion: {
    PROMPT_NOT_FOUND: '(slug: "no", input: { version: "1", text: "x" }) { promptVersion { id } }',
    CONFLICT: '(slug: "guide", input: { version: "1", text: "x" }) { promptVersion { id } }',
  },
  endConsoleSession: { SESSION_NOT_FOUND: `(id: "${none}") { deletedConsoleSessionId }` },
  dataset: {
    DATASET_NOT_FOUND: '(slug: "no") { id }',
    VERSION_NOT_FOUND: '(slug: "rows", version: 99) { id }',
    TAG_NOT_FOUND: '(slug: "rows", tag: "no") { id }',
  },
  datasetDiff: {
    DATASET_NOT_FOUND: '(slug: "no", from: { version: 1 }, to: { version: 1 }) { nodes { kind } }',
    VERSION_NOT_FOUND: '(slug: "rows", from: { version: 1 }, to: { version: 99 }) { nodes { kind } }',
    TAG_NOT_FOUND: '(slug: "rows", from: { tag: "no" }, to: { version: 1 }) { nodes { kind } }',
  },
  deleteDataset: { DATASET_NOT_FOUND: '(slug: "no") { deletedDatasetId }' },
  deleteDatasetItem: { ROW_NOT_FOUND: `(id: "${none}") { deletedDatasetItemId }` },
  deleteModelPrice: { PRICE_NOT_FOUND: `(id: "${none}") { deletedModelPriceId }` },
  deletePrompt: { PROMPT_NOT_FOUND: '(slug: "no") { deletedPromptId }' },
  describePrompt: { PROMPT_NOT_FOUND: '(slug: "no") { slug }' },
  file: { FILE_NOT_FOUND: `(key: "datasets/${none}/${none}.jpg") { name }` },
  // It is removed once its first logs are stored.
  logTrace: {
    CONFLICT: `(input: { logs: [${'{ id: "1", type: SPAN }'.repeat(500)}] }) { trace { id } }`,
  },
  log: { LOG_NOT_FOUND: `(id: "${none}") { id }` },
  prompt: { PROMPT_NOT_FOUND: '(slug: "no") { id }' },
  promptDiff: {
    PROMPT_NOT_FOUND: '(slug: "no", from: "1", to: "1")',
    VERSION_NOT_FOUND: '(slug: "guide", from: "1", to: "9")',
  },
  publishPrompt: {
    PROMPT_NOT_FOUND: '(slug: "no", input: { newTag: "a", to: { version: "1" } }) { prompt { id } }',
    VERSION_NOT_FOUND: '(slug: "guide", input: { newTag: "a", to: { version: "9" } }) { prompt { id } }',
    TAG_NOT_FOUND: '(slug: "guide", input: { newTag: "a", to: { tag: "no" } }) { prompt { id } }',
  },
  removeDatasetTag: {
    DATASET_NOT_FOUND: '(slug: "no", input: { tag: "a" }) { deletedDatasetTagId }',
    TAG_NOT_FOUND: '(slug: "rows", input: { tag: "no" }) { deletedDatasetTagId }',
  },
  // Of two at once one is refused.
  pruneTraces: { CONFLICT: '(input: { before: "2000-01-01" }) { traces }' },
  removePromptTag: {
    PROMPT_NOT_FOUND: '(slug: "no", input: { tag: "a" }) { deletedPromptTagId }',
    TAG_NOT_FOUND: '(slug: "guide", input: { tag: "no" }) { deletedPromptTagId }',
  },
  renderPrompt: { PROMPT_NOT_FOUND: '(slug: "no") { text }', VERSION_NOT_FOUND: '(slug: "draft") { text }' },
  revokeAccessToken: { TOKEN_NOT_FOUND: `(id: "${none}") { accessToken { id } }` },
  rollbackPromptTag: {
    PROMPT_NOT_FOUND: '(slug: "no", input: { tag: "a" }) { prompt { id } }',
    CONFLICT: '(slug: "guide", input: { tag: "no" }) { prompt { id } }',
  },
  promptChanged: { PROMPT_NOT_FOUND: '(slug: "no") { version }' },
  servedPrompt: { PROMPT_NOT_FOUND: '(slug: "no") { text }', VERSION_NOT_FOUND: '(slug: "draft") { text }' },
  setDatasetTagProtection: {
    DATASET_NOT_FOUND: '(slug: "no", input: { tag: "a", protected: true }) { protectedTags }',
  },
  setTagProtection: {
    PROMPT_NOT_FOUND: '(slug: "no", input: { tag: "a", protected: true }) { protectedTags }',
  },
  tagDatasetVersion: {
    DATASET_NOT_FOUND: '(slug: "no", input: { tag: "a", to: { version: 1 } }) { datasetTag { id } }',
    VERSION_NOT_FOUND: '(slug: "rows", input: { tag: "a", to: { version: 99 } }) { datasetTag { id } }',
    TAG_NOT_FOUND: '(slug: "rows", input: { tag: "a", to: { tag: "no" } }) { datasetTag { id } }',
  },
  trace: { TRACE_NOT_FOUND: `(id: "${none}") { id }` },
  traceChanged: { TRACE_NOT_FOUND: `(id: "${none}") { id }` },
  updateDataset: {
    DATASET_NOT_FOUND: '(slug: "no", input: {}) { dataset { id } }',
    CONFLICT: '(slug: "rows", input: { addColumns: [{ name: "a", type: TEXT }] }) { dataset { id } }',
  },
  updateDatasetItem: { ROW_NOT_FOUND: `(id: "${none}", input: {}) { datasetRow { id } }` },
  updatePrompt: { PROMPT_NOT_FOUND: '(slug: "no", input: {}) { prompt { id } }' },
};

const named = (["Query", "Mutation", "Subscription"] as const).flatMap((root) => {
  const type = schema.getType(root) as ReturnType<typeof schema.getQueryType>;
  return Object.keys(type!.getFields()).flatMap((name) =>
    codesOf(root, name).map((code): [string, string, string] => [name, code, root.toLowerCase()]),
  );
});

/** The only field of an operation, or the first event of a subscription; or its first error. */
async function firstAnswer(query: string) {
  if (!query.startsWith("subscription")) return server.run(query);
  await using events = await subscribe(server, query);
  const { errors, data } = await events.next();
  return errors ? { error: errors[0].extensions } : data;
}

test.each(named)("%s gives the error %s that its description names", async (name, code, operation) => {
  const { body } = await server.post("/monitor/log", { slug: "guide", output: 1 });
  const request = requests[name]![code]!.replace("<log>", body.log.id);
  const send = () => firstAnswer(`${operation} { ${name}${request} }`);
  if (name === "pruneTraces") await addLogs(server, 2_000, () => ({ startTime: new Date("1999-01-01") }));
  const ways: Record<string, () => Promise<unknown[]>> = {
    pruneTraces: () => Promise.all([send(), send(), send(), send()]),
    logTrace: async () => [await removeWhileStored(server, send)],
  };
  const answers = (await ways[name]?.()) ?? [await send()];
  expect(answers).toContainEqual({ error: expect.objectContaining({ code }) });
});

test.each([
  ["query", "dataset", "DATASET_NOT_FOUND"],
  ["mutation", "deleteDataset", "DATASET_NOT_FOUND"],
  ["subscription", "promptChanged", "PROMPT_NOT_FOUND"],
])(
  "an error of its own that the description of a field of a %s does not name is noticed in every test",
  (operation, name, own) => {
    const failure = (code: string) => [{ path: ["a"], extensions: { code } }];
    const query = `${operation} { a: ${name}(slug: "x") { __typename } }`;
    expect(() => checkErrorsAreNamed(query, failure(own))).not.toThrow();
    expect(() => checkErrorsAreNamed(query, failure("CONFLICT"))).toThrow(`description of ${name}`);
  },
);

test("an error of a field below, of which the description of its root names none, is noticed in every test", () => {
  const failure = (code: string) => [{ path: ["log", "output"], extensions: { code } }];
  const query = '{ log(id: "x") { output } }';
  expect(() => checkErrorsAreNamed(query, failure("LOG_NOT_FOUND"))).not.toThrow();
  expect(() => checkErrorsAreNamed(query, failure("PRICE_NOT_FOUND"))).toThrow("fields below Query");
});

test.each(["Query", "Mutation", "Subscription"])(
  "the description of %s names the errors that each of its fields may give",
  (root) => {
    const { description } = schema.getType(root)!;
    const general = "UNAUTHENTICATED BAD_INPUT FORBIDDEN QUERY_TOO_COMPLEX TOO_MANY_REQUESTS UNAVAILABLE";
    for (const code of `${general} TIMED_OUT INTERNAL`.split(" "))
      expect(description).toContain(`\`${code}\``);
  },
);
