import { afterAll, expect, test, vi } from "vitest";
import { type Scope, scopes } from "../src/context.ts";
import { commandLineContext } from "../src/workspaces/resolvers.ts";
import { accessTokens, newToken, revokeAccessToken } from "../src/workspaces/tokens.resolvers.ts";
import { generateToken, isIntact } from "../src/workspaces/tokens.ts";
import { addDataset, addPrompt, addToken, addWorkspace } from "./data.ts";
import { subscribe } from "./events.ts";
import { startServer } from "./server.ts";

const server = await startServer({ sample: true });
afterAll(() => server[Symbol.asyncDispose]());

const other = await addWorkspace(server, "other");
const { database } = server;
const [workspace] = await database.read
  .selectFrom("Workspace")
  .select("id")
  .where("name", "=", "default")
  .execute();
const workspaceId = workspace!.id;

const noId = "01890a5d-ac96-774b-bcce-b302099a8057";
const query = (name: string, needed: Needed, fields: string): Operation => [
  name,
  needed,
  (token) => server.graphql(`{ ${fields} }`, {}, { token }),
];
const mutation = (name: string, needed: Needed, fields: string): Operation => [
  name,
  needed,
  (token) => server.graphql(`mutation { ${fields} }`, {}, { token }),
];

/** What an operation needs; a token with one scope alone never does what needs two. */
type Needed = Scope | "read and write";
type Operation = [
  name: string,
  needed: Needed,
  (token: string | null) => Promise<{ status: number; body: unknown }>,
];

/** Listens until it is told that it may, or why not. */
async function listen(token: string | null) {
  await using events = await subscribe(server, "subscription { logAdded { id } }", {}, token);
  const stop = setTimeout(() => events[Symbol.asyncDispose](), 100);
  const body = await events.next().catch(() => ({ data: {} }));
  clearTimeout(stop);
  const { status, headers } = events.response;
  return { status, body, headers: Object.fromEntries(headers) };
}

/** Every operation of both doors, with the scope that it needs: each must hold the rules below. */
const operations: Operation[] = [
  ["GET /datasets/{slug}", "read", (token) => server.get("/datasets/country-quiz", { token })],
  [
    "POST /datasets/{slug}/items",
    "write",
    (token) => server.post("/datasets/country-quiz/items", { values: {} }, { token }),
  ],
  ["GET /datasets", "read", (token) => server.get("/datasets", { token })],
  ["GET /prompts", "read", (token) => server.get("/prompts", { token })],
  ["GET /prompts/{slug}", "read", (token) => server.get("/prompts/country-guide", { token })],
  [
    "GET /prompts/{slug}/describe",
    "read",
    (token) => server.get("/prompts/country-guide/describe", { token }),
  ],
  [
    "POST /prompts/{slug}/publish",
    "write",
    (token) => server.post("/prompts/country-guide/publish", { newTag: "t", version: "1.0.0" }, { token }),
  ],
  [
    "POST /monitor/log",
    "write",
    (token) => server.post("/monitor/log", { slug: "country-guide", output: 1 }, { token }),
  ],
  query("dataset", "read", 'dataset(slug: "country-quiz") { slug }'),
  query("datasets", "read", "datasets { slug }"),
  query("describePrompt", "read", 'describePrompt(slug: "country-guide") { slug }'),
  query("prompt", "read", 'prompt(slug: "country-guide") { slug }'),
  query("prompts", "read", "prompts { slug }"),
  query("servedPrompt", "read", 'servedPrompt(slug: "country-guide") { text }'),
  query("renderPrompt", "read", 'renderPrompt(slug: "country-guide") { text }'),
  query("promptDiff", "read", 'promptDiff(slug: "country-guide", from: "1.0.0", to: "2.0.0")'),
  query("trace", "read", `trace(id: "${noId}") { id }`),
  query("log", "read", `log(id: "${noId}") { id }`),
  query("logs", "read", "logs { id }"),
  query("traces", "read", "traces { id }"),
  query("usage", "read", 'usage(from: "2026-01-01", to: "2026-01-02") { logs }'),
  ["logAdded", "read", listen],
  query("accessTokens", "admin", "accessTokens { id }"),
  query("auditLog", "admin", "auditLog { id }"),
  query("modelPrices", "read", "modelPrices { id }"),
  mutation(
    "addDatasetItem",
    "write",
    'addDatasetItem(slug: "country-quiz", input: {values: {}}) { warning }',
  ),
  mutation("addDatasetItems", "write", 'addDatasetItems(slug: "country-quiz", items: []) { warning }'),
  mutation("updateDatasetItem", "read and write", `updateDatasetItem(id: "${noId}") { warning }`),
  mutation("deleteDatasetItem", "write", `deleteDatasetItem(id: "${noId}")`),
  mutation("createDataset", "read and write", 'createDataset(slug: "country-quiz", columns: []) { slug }'),
  mutation("updateDataset", "read and write", 'updateDataset(slug: "nope") { slug }'),
  mutation("deleteDataset", "write", 'deleteDataset(slug: "nope")'),
  mutation(
    "addLogToDataset",
    "read and write",
    `addLogToDataset(logId: "${noId}", slug: "country-quiz") { warning }`,
  ),
  mutation("logPrompt", "write", 'logPrompt(input: {slug: "country-guide", output: 1}) { warning }'),
  mutation("createPrompt", "read and write", 'createPrompt(slug: "country-guide") { slug }'),
  mutation("updatePrompt", "read and write", 'updatePrompt(slug: "country-guide") { slug }'),
  mutation("deletePrompt", "write", 'deletePrompt(slug: "nope")'),
  mutation(
    "createPromptVersion",
    "write",
    'createPromptVersion(slug: "nope", input: {version: "1", text: "x"}) { warning }',
  ),
  mutation(
    "publishPrompt",
    "write",
    'publishPrompt(slug: "country-guide", newTag: "t", version: "1.0.0") { id }',
  ),
  mutation("removePromptTag", "write", 'removePromptTag(slug: "country-guide", tag: "nope") { id }'),
  mutation("rollbackPromptTag", "write", 'rollbackPromptTag(slug: "country-guide", tag: "nope") { id }'),
  mutation(
    "setTagProtection",
    "publish",
    'setTagProtection(slug: "country-guide", tag: "nope", protected: false)',
  ),
  mutation("createAccessToken", "admin", 'createAccessToken(name: "x", scopes: [read]) { token }'),
  mutation("revokeAccessToken", "admin", `revokeAccessToken(id: "${noId}") { id }`),
  mutation(
    "setModelPrice",
    "admin",
    'setModelPrice(model: "x", inputPrice: 1, outputPrice: 1, validFrom: "9999-01-01") { id }',
  ),
  mutation("deleteModelPrice", "admin", `deleteModelPrice(id: "${noId}")`),
  mutation("repriceLogs", "admin", 'repriceLogs(from: "2000-01-01", to: "2000-01-02") { changed }'),
];

function codeIn(body: unknown): string | undefined {
  const { code, errors } = body as { code?: string; errors?: { extensions: { code: string } }[] };
  return code ?? errors?.[0]?.extensions.code;
}

test("the operations under test are all that the schema has", async () => {
  const { body } = await server.graphql(
    "{ __schema { queryType { ...F } mutationType { ...F } subscriptionType { ...F } } } fragment F on __Type { fields { name } }",
  );
  const names = Object.values<{ fields: { name: string }[] }>(body.data.__schema)
    .flatMap(({ fields }) => fields)
    .map(({ name }: { name: string }) => name);
  expect(operations.map(([name]) => name)).toEqual(expect.arrayContaining(names));
});

const expired = await addToken(server, { expiresAt: new Date(Date.now() - 1_000) });
const revoked = await addToken(server);
await revokeAccessToken(commandLineContext(database, workspaceId), { id: revoked.id });
const intact = generateToken();

test.each([
  ["no token", null],
  ["an unknown token", intact],
  ["a token with a wrong checksum", `${intact.slice(0, -1)}${intact.endsWith("0") ? "1" : "0"}`],
  ["nonsense", "x"],
  ["an expired token", expired.token],
  ["a revoked token", revoked.token],
])("every operation refuses %s with 401", async (_, token) => {
  for (const [, , call] of operations) {
    const { status, body, headers } = (await call(token)) as Awaited<ReturnType<typeof server.get>>;
    expect({ status, code: codeIn(body) }).toEqual({ status: 401, code: "UNAUTHENTICATED" });
    expect(headers["www-authenticate"]).toBe("Bearer");
  }
});

test.each(["", "Basic dXNlcjpwYXNz", "Bearer", "Bearer  ", "Token x"])(
  "a malformed Authorization header is 401: %j",
  async (authorization) => {
    const answer = await server.get("/datasets/country-quiz", { token: null, headers: { authorization } });
    expect(answer).toMatchObject({ status: 401, body: { code: "UNAUTHENTICATED" } });
  },
);

test.each(scopes)(
  "a token with only the scope %s does what needs that scope and nothing else",
  async (scope) => {
    const { token } = await addToken(server, { scopes: [scope] });
    for (const [name, needed, call] of operations) {
      const { body } = await call(token);
      if (needed === scope) expect([name, codeIn(body)]).not.toEqual([name, "FORBIDDEN"]);
      else expect([name, codeIn(body)]).toEqual([name, "FORBIDDEN"]);
    }
    const refused = operations.find(([name, needed]) => needed !== scope && name.includes("/"))!;
    expect((await refused[2](token)).status).toBe(403);
  },
);

test("what a token that may only write has stored is never answered as if it were not", async () => {
  const { token } = await addToken(server, { scopes: ["write"] });
  const fields = "trace { id logs { id trace { id } } } log { id prompt { slug } }";
  const { status, body } = await server.graphql(
    `mutation { logPrompt(input: {slug: "country-guide", output: 1}) { ${fields} } }`,
    {},
    { token },
  );
  expect(status).toBe(200);
  expect(body.data.logPrompt).toMatchObject({
    trace: { logs: [{ id: body.data.logPrompt.log.id }] },
    log: { prompt: null },
  });
});

test.each(["gab_0123456789012345678901234567890123456789012345678", "a token that ends in à, à"])(
  "a token that somebody chose works whatever its form: %s",
  async (chosen) => {
    const { row } = newToken(workspaceId, { name: "chosen", scopes: ["read"], expiresAt: null }, chosen);
    await database.commit([["AccessToken", row]]);
    const token = Buffer.from(chosen, "utf8").toString("latin1");
    expect((await server.get("/prompts/country-guide/describe", { token })).status).toBe(200);
  },
);

test("a token that expires while it is remembered stops working then", async () => {
  const { token } = await addToken(server, { expiresAt: new Date(Date.now() + 60_000) });
  expect((await server.get("/prompts/country-guide/describe", { token })).status).toBe(200);
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 60_001);
  try {
    expect((await server.get("/prompts/country-guide/describe", { token })).status).toBe(401);
  } finally {
    clock.mockRestore();
  }
});

test("without a token the body is not read, so a huge one costs nothing", async () => {
  const answer = await server.post("/monitor/log", "x".repeat(20_000_000), { token: null });
  expect(answer.status).toBe(401);
});

test("the schema may be asked for without a token, data may not be slipped in beside it", async () => {
  const open = await server.graphql("{ __schema { queryType { name } } __typename }", {}, { token: null });
  expect(open.body).toEqual({ data: { __schema: { queryType: { name: "Query" } }, __typename: "Query" } });
  const query = 'query { __typename ...F } fragment F on Query { dataset(slug: "country-quiz") { slug } }';
  expect(await server.graphql(query, {}, { token: null })).toMatchObject({
    status: 401,
    body: { errors: [{}] },
  });
});

test("a token of another workspace sees nothing of this one, and its own under the same slugs", async () => {
  const missing = await Promise.all([
    server.get("/datasets/country-quiz", { token: other.token }),
    server.post("/datasets/country-quiz/items", { values: {} }, { token: other.token }),
    server.get("/prompts/country-guide/describe", { token: other.token }),
  ]);
  for (const answer of missing) expect(answer.status).toBe(404);
  const unknown = await server.get("/datasets/no-such-dataset", { token: other.token });
  expect(missing[0]!.body).toEqual({ ...unknown.body, error: 'Dataset "country-quiz" does not exist.' });

  await addDataset(server, { slug: "country-quiz", name: "Theirs", columns: [], workspace: "other" });
  await addPrompt(server, { slug: "country-guide", versions: [{ version: "7" }], workspace: "other" });
  const dataset = await server.get("/datasets/country-quiz", { token: other.token });
  expect(dataset.body.dataset).toMatchObject({ name: "Theirs", rows: [] });
  const prompt = await server.get("/prompts/country-guide/describe", { token: other.token });
  expect(prompt.body.prompt.availableVersions).toEqual(["7"]);
});

test("traces and logs of another workspace do not exist, nor their relations, nor a link to its prompts", async () => {
  const mine = await server.post("/monitor/log", { slug: "country-guide", output: 1 });
  const query =
    "query($t: ID!, $l: ID!) { trace(id: $t) { id logs { id } } log(id: $l) { id trace { id } } }";
  const ids = { t: mine.body.trace.id, l: mine.body.log.id };
  expect((await server.graphql(query, ids)).body.errors).toBeUndefined();
  const theirs = await server.graphql(query, ids, { token: other.token });
  expect(theirs.body.data).toEqual({ trace: null, log: null });
  expect(theirs.body.errors.map(codeOf)).toEqual(
    expect.arrayContaining(["TRACE_NOT_FOUND", "LOG_NOT_FOUND"]),
  );
  const unlinked = await server.post(
    "/monitor/log",
    { slug: "flag-describer", output: 1 },
    { token: other.token },
  );
  expect(unlinked.body.warning).toContain("does not exist");
});

const codeOf = ({ extensions }: { extensions: { code: string } }) => extensions.code;

test("only the hash of a token is stored", async () => {
  const handle = await database.orm.em.fork().execute("select * from access_tokens");
  expect(handle.length).toBeGreaterThan(3);
  expect(JSON.stringify(handle)).not.toContain(server.token);
  expect(JSON.stringify(handle)).not.toContain("gab_");
});

test("a token's last use is noted", async () => {
  const { id, token } = await addToken(server);
  const lastUsedAt = async () =>
    (await accessTokens(commandLineContext(database, workspaceId))).find((listed) => listed.id === id)
      ?.lastUsedAt;
  expect(await lastUsedAt()).toBeNull();
  await server.get("/prompts/country-guide/describe", { token });
  expect(Date.now() - (await lastUsedAt())!.getTime()).toBeLessThan(10_000);
});

test("a revoked token stops working at once, also where it was in use", async () => {
  const { id, token } = await addToken(server);
  const status = async () => (await server.get("/prompts/country-guide/describe", { token })).status;
  expect(await status()).toBe(200);
  const revoke = (workspace: string) => revokeAccessToken(commandLineContext(database, workspace), { id });
  await expect(revoke(other.id)).rejects.toThrow("no working access token");
  await revoke(workspaceId);
  await expect(revoke(workspaceId)).rejects.toThrow("no working access token");
  expect(await status()).toBe(401);
});

test("a generated token has 256 bits and a checksum that tells a mistyped one", () => {
  const tokens = Array.from({ length: 500 }, generateToken);
  expect(new Set(tokens).size).toBe(500);
  for (const token of tokens) {
    expect(token).toMatch(/^gab_[0-9A-Za-z]{49}$/);
    expect(isIntact(token)).toBe(true);
    const at = 4 + Math.floor(Math.random() * 49);
    const mistyped = token.slice(0, at) + (token[at] === "a" ? "b" : "a") + token.slice(at + 1);
    expect(isIntact(mistyped)).toBe(false);
  }
});
