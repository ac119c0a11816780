import { afterAll, expect, test, vi } from "vitest";
import { listTokens, revokeToken } from "../src/workspaces/resolvers.ts";
import { generateToken, isIntact } from "../src/workspaces/tokens.ts";
import { addDataset, addPrompt, addToken, addWorkspace } from "./data.ts";
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

/** Every operation of both doors, with what it needs: each must hold the rules below. */
const operations: [
  string,
  "read" | "write",
  (token: string | null) => Promise<{ status: number; body: unknown }>,
][] = [
  ["GET /datasets/{slug}", "read", (token) => server.get("/datasets/country-quiz", { token })],
  [
    "POST /datasets/{slug}/items",
    "write",
    (token) => server.post("/datasets/country-quiz/items", { values: {} }, { token }),
  ],
  [
    "GET /prompts/{slug}/describe",
    "read",
    (token) => server.get("/prompts/country-guide/describe", { token }),
  ],
  [
    "POST /monitor/log",
    "write",
    (token) => server.post("/monitor/log", { slug: "country-guide", output: 1 }, { token }),
  ],
  ["dataset", "read", (token) => server.graphql('{ dataset(slug: "country-quiz") { slug } }', {}, { token })],
  [
    "addDatasetItem",
    "write",
    (token) =>
      server.graphql(
        'mutation { addDatasetItem(slug: "country-quiz", input: {values: {}}) { warning } }',
        {},
        { token },
      ),
  ],
  [
    "describePrompt",
    "read",
    (token) => server.graphql('{ describePrompt(slug: "country-guide") { slug } }', {}, { token }),
  ],
  [
    "logPrompt",
    "write",
    (token) =>
      server.graphql(
        'mutation { logPrompt(input: {slug: "country-guide", output: 1}) { warning } }',
        {},
        { token },
      ),
  ],
  [
    "trace",
    "read",
    (token) => server.graphql('{ trace(id: "01890a5d-ac96-774b-bcce-b302099a8057") { id } }', {}, { token }),
  ],
  [
    "log",
    "read",
    (token) => server.graphql('{ log(id: "01890a5d-ac96-774b-bcce-b302099a8057") { id } }', {}, { token }),
  ],
];

function codeIn(body: unknown): string | undefined {
  const { code, errors } = body as { code?: string; errors?: { extensions: { code: string } }[] };
  return code ?? errors?.[0]?.extensions.code;
}

test("the operations under test are all that the schema has", async () => {
  const { body } = await server.graphql(
    "{ __schema { queryType { fields { name } } mutationType { fields { name } } } }",
  );
  const { queryType, mutationType } = body.data.__schema;
  const names = [...queryType.fields, ...mutationType.fields].map(({ name }: { name: string }) => name);
  expect(operations.map(([name]) => name)).toEqual(expect.arrayContaining(names));
});

const expired = await addToken(server, { expiresAt: new Date(Date.now() - 1_000) });
const revoked = await addToken(server);
await revokeToken(database, { workspaceId, id: revoked.id });
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

test.each(["read", "write"] as const)(
  "a token with only the scope %s does what needs that scope and nothing else",
  async (scope) => {
    const { token } = await addToken(server, { scopes: [scope] });
    for (const [name, needed, call] of operations) {
      const { body } = await call(token);
      if (needed === scope) expect([name, codeIn(body)]).not.toEqual([name, "FORBIDDEN"]);
      else expect([name, codeIn(body)]).toEqual([name, "FORBIDDEN"]);
    }
    const denied = await (scope === "read" ? operations[1] : operations[0])![2](token);
    expect(denied.status).toBe(403);
  },
);

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
    (await listTokens(database, workspaceId)).find((listed) => listed.id === id)?.lastUsedAt;
  expect(await lastUsedAt()).toBeNull();
  await server.get("/prompts/country-guide/describe", { token });
  expect(Date.now() - (await lastUsedAt())!.getTime()).toBeLessThan(10_000);
});

test("a revoked token stops working when what the server remembers of it is 30 seconds old", async () => {
  const { id, token } = await addToken(server);
  const status = async () => (await server.get("/prompts/country-guide/describe", { token })).status;
  expect(await status()).toBe(200);
  expect(await revokeToken(database, { workspaceId: other.id, id })).toBe(false);
  expect(await revokeToken(database, { workspaceId, id })).toBe(true);
  expect(await revokeToken(database, { workspaceId, id })).toBe(false);
  const now = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(now + 30_001);
  try {
    expect(await status()).toBe(401);
  } finally {
    clock.mockRestore();
  }
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
