import { connect } from "node:net";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { sumsOf } from "../../faults/storedRows.ts";
import { removeDeletedDatasets } from "../../src/datasets/removal.resolvers.ts";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { removeDeletedPrompts } from "../../src/prompts/removal.resolvers.ts";
import { scopes } from "../../src/scopes.ts";
import { commandLineContext } from "../../src/workspaces/resolvers.ts";
import { accessTokens, newToken, revokeAccessToken } from "../../src/workspaces/tokens.resolvers.ts";
import { generateToken, isIntact } from "../../src/workspaces/tokens.ts";
import { addDataset, addPrompt, addToken, addWorkspace } from "../support/data.ts";
import { withoutSignatures } from "../support/files.ts";
import { addFixtures, type Fixtures, missingFixtures } from "../support/fixtures.ts";
import { unlistedFields } from "../support/operations.ts";
import { codeIn, type Row, routesOf, rowsOf } from "../support/operationTable.ts";
import { type Answer, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

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

const rows = await rowsOf(server);
const mine = await addFixtures(database, workspaceId, { mark: "mine", secret: "known-to-nobody-else" });
/** Those that the second way to each operation is asked about, as the first has changed or removed some. */
const more = await addFixtures(database, workspaceId, { mark: "more", secret: "known-to-nobody-else" });
/** What is nowhere, named so that it stands in the same order. */
const noMine = missingFixtures("nil1");
const noMore = missingFixtures("nil2");
const isSecondWay = ({ name }: Row) => / by |^HEAD /.test(name);

test("every operation of the schema and every route has a row in the table", () => {
  const tabled = rows.map(({ name }) => name.replace(/ by .*/, ""));
  expect(unlistedFields()).toEqual([]);
  expect(routesOf(server).length).toBeGreaterThan(25);
  expect(routesOf(server).filter((route) => !tabled.includes(route))).toEqual([]);
});

const expired = await addToken(server, { expiresAt: new Date(Date.now() - 1_000) });
const revoked = await addToken(server);
await revokeAccessToken(commandLineContext(database, workspaceId), { id: revoked.id });
const intact = generateToken();
const reader = await addToken(server, { scopes: ["read"] });

/** What the table says of a row: with a token that is none, with one that may only read, with the right one. */
function tabled({ name, needed }: Row): { refused: string; reading: string; right: string } {
  const isRest = name.includes(" /");
  const isHead = name.startsWith("HEAD"); // which is answered without a body, so without a code
  const right = /^POST \/(?:datasets|prompts)/.test(name)
    ? "201"
    : name.endsWith("/index.html")
      ? "302"
      : "200";
  const refused = needed === "nothing" ? right : `401${isHead ? "" : " UNAUTHENTICATED"}`;
  const isOpen = ["read", "nothing", "any token"].includes(needed);
  return { refused, reading: isOpen ? right : `${isRest ? 403 : 200} FORBIDDEN`, right };
}

/** The codes of google.rpc.Status, in which errors of OpenTelemetry are written. */
const rpcCodes: Record<number, string> = { 7: "FORBIDDEN", 16: "UNAUTHENTICATED" };

const nameIn = (body: unknown) => {
  const code = codeIn(body);
  return rpcCodes[Number(code)] ?? code;
};

const outcomeOf = ({ status, body }: Answer) => [status, nameIn(body) ?? []].flat().join(" ");

/** What became of every row with a token, beside what the table says. */
async function compare(token: string | null, of: (row: Row) => string) {
  const found: [name: string, outcome: string][] = [];
  for (const row of rows)
    found.push([row.name, outcomeOf(await row.ask(token, isSecondWay(row) ? more : mine))]);
  expect(found).toEqual(rows.map((row) => [row.name, of(row)]));
}

/** Sums after all that was refused so far is stored, and the service has removed what was deleted, as it does every minute. */
async function sums() {
  await storeRejected(database);
  const { signal } = new AbortController();
  await removeDeletedDatasets(database, signal);
  await removeDeletedPrompts(database, signal);
  return sumsOf(database, workspaceId);
}

test.each([
  ["no token", null],
  ["a malformed token", `${intact.slice(0, -1)}${intact.endsWith("0") ? "1" : "0"}`],
  ["nonsense", "x"],
  ["an unknown token", intact],
  ["an expired token", expired.token],
  ["a revoked token", revoked.token],
])("every operation is answered as tabled with %s, and changes nothing", async (_, token) => {
  const before = await sums();
  await compare(token, (row) => tabled(row).refused);
  expect(await sums()).toEqual(before);
  const { headers } = await server.get("/datasets", { token });
  expect(headers["www-authenticate"]).toBe("Bearer");
});

test("every operation is answered as tabled with a token that may only read, and changes nothing", async () => {
  const withoutRefusals = async () => ({ ...(await sums()), rejected_items: "the refusals are listed" });
  const before = await withoutRefusals();
  await compare(reader.token, (row) => tabled(row).reading);
  expect(await withoutRefusals()).toEqual(before);
});

const createdAt = /"createdAt":"[^"]+"/g;
const uuid = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/g;

/** An answer to one who asked about some fixtures, as if the question had been about others. */
function asked({ status, headers, body }: Answer, about: Fixtures, others: Fixtures) {
  const { date: _, "x-request-id": _id, etag: _tag, ...otherHeaders } = headers; // the tag sums up the body
  // What was asked before is listed among what was rejected, by both ways.
  const names = [about, mine, more].flatMap((all, n) => {
    const counterparts = [others, noMine, noMore][n]!;
    return Object.entries(all).map(([kind, name]) => [name, counterparts[kind as keyof Fixtures]] as const);
  });
  const text = names.reduce(
    (all, [name, counterpart]) => all.replaceAll(name, counterpart),
    JSON.stringify([status, otherHeaders, body]),
  );
  return withoutSignatures(text.replaceAll(createdAt, "").replaceAll(uuid, "<id>"));
}

test("every operation answers byte for byte the same of another workspace's fixtures as of none, and changes nothing", async () => {
  const before = await sums();
  const theirs = await addWorkspace(server, "theirs");
  const others = await addWorkspace(server, "others");
  for (const row of rows) {
    const [fixtures, none] = isSecondWay(row) ? [more, noMore] : [mine, noMine];
    await storeRejected(database); // or else the second list may have what was refused since the first
    const ofThings = await row.ask(theirs.token, fixtures);
    const ofNothing = await row.ask(others.token, none);
    expect([row.name, asked(ofThings, fixtures, none)]).toEqual([row.name, asked(ofNothing, none, none)]);
    expect([row.name, JSON.stringify(ofThings)]).not.toEqual([
      row.name,
      expect.stringContaining("known-to-nobody-else"),
    ]);
  }
  expect(await sums()).toEqual(before);
});

test("every operation is carried out with the right token", async () => {
  await compare(server.token, (row) => tabled(row).right);
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
    for (const { name, needed, ask } of rows) {
      if (["nothing", "any token"].includes(needed) || name.startsWith("HEAD")) continue;
      const { body } = await ask(token, noMine);
      if (needed === scope) expect([name, nameIn(body)]).not.toEqual([name, "FORBIDDEN"]);
      else expect([name, nameIn(body)]).toEqual([name, "FORBIDDEN"]);
    }
  },
);

test.each(["country-guide", "no-such-prompt"])(
  "a token that may only write is refused the prompt of its log, be it there or not: %s",
  async (slug) => {
    const { token } = await addToken(server, { scopes: ["write"] });
    const { body } = await server.graphql(
      "mutation($slug: String!) { logPrompt(input: {slug: $slug, output: 1}) { log { prompt { slug } } } }",
      { slug },
      { token },
    );
    expect(body).toMatchObject({
      data: { logPrompt: { log: { prompt: null } } },
      errors: [{ path: ["logPrompt", "log", "prompt"], extensions: { code: "FORBIDDEN" } }],
    });
  },
);

test("what a token that may only write has stored is never answered as if it were not", async () => {
  const { token } = await addToken(server, { scopes: ["write"] });
  const fields = "trace { id logs { nodes { id trace { id } } } } log { id prompt { slug } }";
  const { status, body } = await server.graphql(
    `mutation { logPrompt(input: {slug: "country-guide", output: 1}) { ${fields} } }`,
    {},
    { token },
  );
  expect(status).toBe(200);
  expect(body.data.logPrompt).toMatchObject({
    trace: { logs: { nodes: [{ id: body.data.logPrompt.log.id }] } },
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

test("a token that expires while it is cached stops working then", async () => {
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

test.each([
  ["the schema", "{ __schema { queryType { name } } }"],
  ["a document that is not valid", "{ nothing { of } this"],
  ["data", '{ dataset(slug: "country-quiz") { slug } }'],
])("without a token GraphQL answers 401 to %s, by POST and by GET", async (_, query) => {
  const refused = { status: 401, body: { errors: [{ extensions: { code: "UNAUTHENTICATED" } }] } };
  expect(await server.graphql(query, {}, { token: null })).toMatchObject(refused);
  const byGet = `/graphql?query=${encodeURIComponent(query)}`;
  expect(await server.get(byGet, { token: null })).toMatchObject(refused);
});

test.each(["/graphql", "/monitor/log", "/datasets/country-quiz/items"])(
  "without a token POST %s is answered before its body arrives, and the connection serves on",
  async (path) => {
    const { port } = new URL(server.url);
    const socket = connect({ host: "127.0.0.1", port: Number(port) });
    const answers = socket[Symbol.asyncIterator]();
    const head = `Host: x\r\nContent-Type: application/json\r\nContent-Length: 300000`;
    socket.write(`POST ${path} HTTP/1.1\r\n${head}\r\n\r\n`);
    expect(String((await answers.next()).value)).toMatch(/^HTTP\/1\.1 401 /);
    socket.write("0".repeat(300_000));
    socket.write("GET /health HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(String((await answers.next()).value)).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  },
);

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
    "query($t: ID!, $l: ID!) { trace(id: $t) { id logs { nodes { id } } } log(id: $l) { id trace { id } } }";
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

const lastUseOf = async (id: string) =>
  (await accessTokens(commandLineContext(database, workspaceId))).find((listed) => listed.id === id)
    ?.lastUsedAt;

test("a token's last use is noted", async () => {
  const { id, token } = await addToken(server);
  expect(await lastUseOf(id)).toBeNull();
  await server.get("/prompts/country-guide/describe", { token });
  await expect.poll(() => lastUseOf(id)).not.toBeNull();
  expect(Date.now() - (await lastUseOf(id))!.getTime()).toBeLessThan(60_000);
});

test("a token that only reads has its last use noted to the minute, though nothing is stored", async () => {
  await using own = await startServer({ sample: true });
  const sinceLastUse = async () => {
    const [token] = await own.database.read.selectFrom("AccessToken").select("lastUsedAt").execute();
    return Date.now() - (token!.lastUsedAt?.getTime() ?? 0);
  };
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => void vi.useRealTimers());
  for (let minute = 0; minute < 4; minute++) {
    vi.setSystemTime(Date.now() + 60_000);
    await own.get("/prompts/country-guide");
    await expect.poll(sinceLastUse).toBeLessThan(60_000);
  }
});

test("the uses of tokens that are used at once are noted together", async () => {
  const tokens = await Promise.all(Array.from({ length: 60 }, () => addToken(server)));
  const stop = await captureStatements(server);
  await Promise.all(
    tokens.map(({ token }) => server.get("/prompts/country-guide/describe?version=1.0.0", { token })),
  );
  const unnoted = async () => (await Promise.all(tokens.map(({ id }) => lastUseOf(id)))).filter((at) => !at);
  await expect.poll(unnoted).toEqual([]);
  const updates = stop().filter(({ sql }) => /^update ["`]access_tokens["`]/.test(sql));
  expect(updates.length).toBeLessThan(40);
});

test.each([
  ["less than a minute ago is not noted again", 50_000, "kept"],
  ["a minute ago is noted again", 60_000, "written"],
])("a token's use after one that was noted %s", async (_, agoMs, what) => {
  const { id, token } = await addToken(server);
  const before = new Date(Date.now() - agoMs);
  await database.write.updateTable("AccessToken").set({ lastUsedAt: before }).where("id", "=", id).execute();
  await server.get("/prompts/country-guide/describe", { token });
  const next = await addToken(server); // Uses are noted one after another, and nobody waits for them.
  await server.get("/prompts/country-guide/describe", { token: next.token });
  await expect.poll(() => lastUseOf(next.id)).not.toBeNull();
  const after = (await lastUseOf(id))!.getTime();
  if (what === "kept") expect(after).toBe(before.getTime());
  else expect(after).toBeGreaterThan(before.getTime());
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

test("a generated token has 256 bits and a checksum that detects a mistyped one", () => {
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

test("what the pages of the REST interface refuse has the form of every refusal", async () => {
  const answer = await fetch(`${server.url}/docs/static//swagger-ui.css`);
  expect(answer.status).toBe(400);
  expect(await answer.json()).toEqual({ error: expect.any(String), code: "BAD_REQUEST" });
});
