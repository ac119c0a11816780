import { afterAll, expect, test, vi } from "vitest";
import { createSignInLink } from "../../src/console/links.resolvers.ts";
import { createSessionAuthentication, deleteEndedSessions } from "../../src/console/sessions.resolvers.ts";
import { commandLineContext } from "../../src/workspaces/resolvers.ts";
import { revokeAccessToken } from "../../src/workspaces/tokens.resolvers.ts";
import { addToken, addWorkspace } from "../support/data.ts";
import { heard, type Server, startServer } from "../support/server.ts";
import { captureStatements, type Statement } from "../support/statements.ts";

const server = await startServer({ sample: true, console: true });
afterAll(() => server[Symbol.asyncDispose]());

const HOST = "localhost:3001";
const own = { host: HOST, "sec-fetch-site": "same-origin" };
const ME = "{ accessTokens { nodes { id } } }";
const [workspace] = await server.database.read.selectFrom("Workspace").select("id").execute();

type Headers = Record<string, string>;

const signIn = (body: object, headers: Headers = {}, on: Server = server) =>
  on.post("/console/session", body, { token: null, headers: { ...own, ...headers } });

/** The cookie of a new session, as a browser sends it back. */
async function cookieOf(token: string, headers: Headers = {}, on: Server = server): Promise<string> {
  const answer = await signIn({ token }, headers, on);
  expect([answer.status, answer.body]).toEqual([204, ""]);
  return String(answer.headers["set-cookie"]).split(";", 1)[0]!;
}

const asSession = (cookie: string, headers: Headers = {}) => ({
  token: null,
  headers: { ...own, cookie, ...headers },
});

const signedIn = async (cookie: string, headers: Headers = {}) =>
  (await server.get("/console/session", asSession(cookie, headers))).body.session;

test("signing in answers with a cookie that scripts cannot read and other sites cannot send", async () => {
  const { headers } = await signIn({ token: server.token });
  expect(headers["set-cookie"]).toMatch(
    /^gabbro_3001=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict$/,
  );
  expect(headers["cache-control"]).toBe("no-store");
  const secure = await signIn(
    { token: server.token },
    { origin: "https://gabbro.example.com", host: "gabbro.example.com" },
  );
  expect(secure.headers["set-cookie"]).toMatch(
    /^__Host-gabbro=[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
  );
});

test("the scheme that a proxy names has any case", async () => {
  await using behind = await startServer({ console: true, trustedProxies: ["127.0.0.1"] });
  const forwarded = { host: "gabbro.example.com", "x-forwarded-proto": "HTTPS" };
  expect(await cookieOf(behind.token, forwarded, behind)).toMatch(/^__Host-gabbro=/);
});

test.each(["localhost", "gabbro.localhost:3001", "127.0.0.2:3001", "[::1]:3001"])(
  "signing in at %s needs no TLS, as nothing leaves the machine",
  async (host) => {
    const { status, headers } = await signIn({ token: server.token }, { host });
    expect(status).toBe(204);
    expect(headers["set-cookie"]).toMatch(/; SameSite=Strict$/);
  },
);

test("a session has the rights of its token, and says whose it is", async () => {
  const { token, id } = await addToken(server, { scopes: ["read"] });
  const cookie = await cookieOf(token);
  expect(await signedIn(cookie)).toEqual({
    tokenId: id,
    tokenName: expect.any(String),
    scopes: ["read"],
    workspaceId: workspace!.id,
    workspace: "default",
  });
  const { body } = await server.graphql("{ prompts { nodes { slug } } }", {}, asSession(cookie));
  expect(body.data.prompts.nodes[0]).toEqual({ slug: "country-guide" });
  const refused = await server.graphql(ME, {}, asSession(cookie));
  expect(refused.body.errors[0].extensions.code).toBe("FORBIDDEN");
});

test("a page that shows a workspace is refused once its browser has signed in to another one", async () => {
  const other = await addWorkspace(server, "other of two tabs");
  const shows = { "console-workspace": workspace!.id };
  for (const [token, code] of [
    [server.token, undefined],
    [other.token, "UNAUTHENTICATED"],
  ] as const) {
    const { body } = await server.graphql(
      "{ prompts { nodes { slug } } }",
      {},
      asSession(await cookieOf(token), shows),
    );
    expect(body.errors?.[0].extensions.code).toBe(code);
  }
});

test("only the hash of a session's secret is stored", async () => {
  const secret = (await cookieOf(server.token)).split("=")[1]!;
  const rows = await server.database.read.selectFrom("ConsoleSession").selectAll().execute();
  expect(rows.length).toBeGreaterThan(0);
  expect(JSON.stringify(rows)).not.toContain(secret);
});

test("without a session nobody is signed in, and no error is answered that a browser would report", async () => {
  const none = await server.get("/console/session", { token: null, headers: own });
  expect([none.status, none.body]).toEqual([200, { session: null }]);
  const unknown = await server.get("/console/session", asSession("gabbro_3001=unknown"));
  expect([unknown.status, unknown.body]).toEqual([200, { session: null }]);
  expect(String(unknown.headers["set-cookie"])).toContain("gabbro_3001=; Max-Age=0");
});

test.each([
  ["an unknown token", { token: "a token that nobody has ever made" }, {}, 401, "UNAUTHENTICATED"],
  ["an unknown code", { code: "unknown" }, {}, 401, "UNAUTHENTICATED"],
  ["neither", {}, {}, 400, "BAD_INPUT"],
  [
    "a body of another type",
    { token: "x" },
    { "content-type": "application/graphql+json" },
    415,
    "UNSUPPORTED_MEDIA_TYPE",
  ],
  ["a large body", { token: "x".repeat(17_000) }, {}, 413, "BODY_TOO_LARGE"],
  ["another site", { token: "x" }, { "sec-fetch-site": "cross-site" }, 403, "FORBIDDEN"],
  ["another port", { token: "x" }, { "sec-fetch-site": "same-site" }, 403, "FORBIDDEN"],
  ["a network without TLS", { token: "x" }, { host: "10.0.0.7:3001" }, 400, "BAD_REQUEST"],
  ["a name like 127.0.0.1", { token: "x" }, { host: "127.0.0.1.example.com" }, 400, "BAD_REQUEST"],
  ["a name like localhost", { token: "x" }, { host: "localhost.example.com" }, 400, "BAD_REQUEST"],
  [
    "a name of more than 300 characters",
    { token: "x" },
    { host: `${"a.".repeat(147)}localhost` },
    400,
    "BAD_REQUEST",
  ],
] as const)("signing in is refused with %s", async (_, body, headers, status, code) => {
  const answer = await signIn(body, headers as Headers);
  expect([answer.status, answer.body.code]).toEqual([status, code]);
  expect(answer.headers["set-cookie"]).toBeUndefined();
});

test("a browser that does not send Sec-Fetch-Site is known by its Origin", async () => {
  const cookie = await cookieOf(server.token);
  const ask = (origin: string) =>
    server.request(
      "POST",
      "/graphql",
      { query: ME },
      {
        token: null,
        headers: { host: HOST, cookie, origin },
      },
    );
  expect((await ask(`http://${HOST}`)).status).toBe(200);
  expect((await ask("http://localhost:4000")).status).toBe(403);
  expect((await ask("null")).status).toBe(403);
});

test.each(["cross-site", "same-site", "none"])(
  "GraphQL refuses the cookie of a request that is %s",
  async (site) => {
    const call = asSession(await cookieOf(server.token), { "sec-fetch-site": site });
    const { status, body } = await server.graphql(ME, {}, call);
    expect([status, body.errors[0].extensions.code]).toEqual([403, "FORBIDDEN"]);
    expect((await server.get("/console/session", call)).status).toBe(403);
    expect((await server.request("DELETE", "/console/session", undefined, call)).status).toBe(403);
  },
);

test("the cookie counts neither at REST, nor for GraphQL by GET or of another type", async () => {
  const call = asSession(await cookieOf(server.token));
  const plain = { ...call, headers: { ...call.headers, "content-type": "application/graphql+json" } };
  for (const { status } of [
    await server.get("/prompts", call),
    await server.post("/monitor/log", { slug: "country-guide", output: "x" }, call),
    await server.get(`/graphql?query=${encodeURIComponent(ME)}`, call),
    await server.get(`/graphql?query=${encodeURIComponent(ME)}`, {
      ...call,
      headers: { ...call.headers, "content-type": "application/json" },
    }),
    await server.post("/graphql", { query: ME }, plain),
  ])
    expect(status).toBe(401);
});

test("a header with a token wins over the cookie", async () => {
  const reader = await addToken(server, { scopes: ["read"] });
  const call = { ...asSession(await cookieOf(server.token)), token: reader.token };
  const { body } = await server.graphql(ME, {}, call);
  expect(body.errors[0].extensions.code).toBe("FORBIDDEN");
});

test("a session is found among other cookies, whose names may end as its own does", async () => {
  const cookie = await cookieOf(server.token);
  const [name] = cookie.split("=", 1);
  for (const cookies of [
    `x${name}=other; ${cookie}`,
    `a=1;${cookie};b=2`,
    `${cookie}; x${name}=other`,
    `${";=".repeat(1_000)}; ${cookie}`,
  ])
    expect(await signedIn(cookies)).not.toBeNull();
  expect(await signedIn(`x${cookie}`)).toBeNull();
});

test("a session ends with its token, within a second", async () => {
  const { token, id } = await addToken(server);
  const cookie = await cookieOf(token);
  expect(await signedIn(cookie)).not.toBeNull();
  await revokeAccessToken(commandLineContext(server.database, workspace!.id), { id });
  await heard(async () => expect(await signedIn(cookie)).toBeNull());
  expect((await server.graphql(ME, {}, asSession(cookie))).status).toBe(401);
  const stored = server.database.read.selectFrom("ConsoleSession").select("id").where("token", "=", id);
  expect(await stored.execute()).toEqual([]);
});

const SESSIONS =
  "{ consoleSessions(first: 1000) { nodes { id isCurrent accessToken { id name } createdAt lastUsedAt expiresAt } } }";
interface Listed {
  id: string;
  isCurrent: boolean;
  accessToken: { id: string };
}
const sessionsOfAll = async (cookie: string): Promise<Listed[]> =>
  (await server.graphql(SESSIONS, {}, asSession(cookie))).body.data.consoleSessions.nodes;
const sessionsOf = async (id: string, cookie: string) =>
  (await sessionsOfAll(cookie)).filter(({ accessToken }) => accessToken.id === id);
const END = "mutation($id: ID!) { endConsoleSession(id: $id) { deletedConsoleSessionId } }";

test("an administrator sees which browsers are signed in, and signs one out within a second", async () => {
  const { token, id } = await addToken(server, { scopes: ["read", "admin"] });
  const [own, other] = [await cookieOf(token), await cookieOf(token)];
  const listed = await sessionsOf(id, own);
  expect(listed.map(({ isCurrent }) => isCurrent)).toEqual([true, false]);
  const ended = listed[1]!;
  const { body } = await server.graphql(END, { id: ended.id }, asSession(own));
  expect(body.data.endConsoleSession).toEqual({ deletedConsoleSessionId: ended.id });
  await heard(async () => expect(await signedIn(other)).toBeNull());
  expect((await sessionsOf(id, own)).map(({ isCurrent }) => isCurrent)).toEqual([true]);
  const again = await server.graphql(END, { id: ended.id }, asSession(own));
  expect(again.body.errors[0].extensions.code).toBe("SESSION_NOT_FOUND");
  const entry = await server.run("{ auditLog(first: 1) { nodes { action subject before } } }");
  expect(entry[0]).toMatchObject({
    action: "endConsoleSession",
    subject: ended.id,
    before: { token: "test" },
  });
});

test("sessions that have ended are not listed, and neither listed nor ended without the scope admin", async () => {
  const [revoked, idle, reader] = [
    await addToken(server),
    await addToken(server),
    await addToken(server, { scopes: ["read"] }),
  ];
  for (const { token } of [revoked, idle, reader]) await cookieOf(token);
  const cookie = await cookieOf(server.token);
  const [session] = await sessionsOf(reader.id, cookie);
  await revokeAccessToken(commandLineContext(server.database, workspace!.id), { id: revoked.id });
  await server.database.write
    .updateTable("ConsoleSession")
    .set({ lastUsedAt: new Date(Date.now() - 12 * 3_600_000) })
    .where("token", "=", idle.id)
    .execute();
  expect([await sessionsOf(revoked.id, cookie), await sessionsOf(idle.id, cookie)]).toEqual([[], []]);
  for (const [document, variables] of [
    [SESSIONS, {}],
    [END, { id: session!.id }],
  ] as const) {
    const { body } = await server.graphql(document, variables, { token: reader.token });
    expect(body.errors[0].extensions.code).toBe("FORBIDDEN");
  }
});

test("another workspace sees no session, and ends none", async () => {
  const other = await addWorkspace(server, "other");
  const cookie = await cookieOf(server.token);
  const [session] = (await server.graphql(SESSIONS, {}, asSession(cookie))).body.data.consoleSessions.nodes;
  expect(await server.run("{ consoleSessions { nodes { id } } }", {}, other.token)).toEqual([]);
  const refused = await server.graphql(END, { id: session.id }, { token: other.token });
  expect(refused.body.errors[0].extensions.code).toBe("SESSION_NOT_FOUND");
  expect(await signedIn(cookie)).not.toBeNull();
});

test("signing out ends the session and removes the cookie", async () => {
  const cookie = await cookieOf(server.token);
  const { status, headers } = await server.request(
    "DELETE",
    "/console/session",
    undefined,
    asSession(cookie),
  );
  expect(status).toBe(204);
  expect(headers["set-cookie"]).toEqual([
    expect.stringContaining("__Host-gabbro=; Max-Age=0"),
    expect.stringContaining("gabbro_3001=; Max-Age=0"),
  ]);
  expect(await signedIn(cookie)).toBeNull();
});

test.each([
  ["that was not used for twelve hours", { lastUsedAt: -12 }, null],
  ["that was used an hour less ago", { lastUsedAt: -11 }, "default"],
  ["that is seven days old", { createdAt: -7 * 24 }, null],
])("a session %s is ended accordingly, and removed", async (_, hours, workspaceName) => {
  await using own = await startServer({ console: true });
  const cookie = await cookieOf(own.token, {}, own);
  const [[column, ago]] = Object.entries(hours) as [["createdAt" | "lastUsedAt", number]];
  const time = new Date(Date.now() + ago * 3_600_000);
  await own.database.write
    .updateTable("ConsoleSession")
    .set({ [column]: time })
    .execute();
  const { body } = await own.get("/console/session", asSession(cookie));
  expect(body.session?.workspace ?? null).toBe(workspaceName);
  await deleteEndedSessions(own.database, new AbortController().signal);
  const left = await own.database.read.selectFrom("ConsoleSession").select("id").execute();
  expect(left).toHaveLength(workspaceName ? 1 : 0);
});

test("many ended sessions are removed in steps, with others served in between", async () => {
  await using own = await startServer({ console: true });
  for (let n = 0; n < 40; n++) await cookieOf(own.token, {}, own);
  const ended = { lastUsedAt: new Date(Date.now() - 13 * 3_600_000) };
  await own.database.write.updateTable("ConsoleSession").set(ended).execute();
  const stop = await captureStatements(own);
  await deleteEndedSessions(own.database, new AbortController().signal);
  const removals = stop().filter(({ sql }) => /^delete from .console_sessions/.test(sql));
  expect(removals.length).toBeGreaterThan(2); // the first removes five
  expect(await own.database.read.selectFrom("ConsoleSession").select("id").execute()).toEqual([]);
});

test("a use is recorded with the session and its token, so that it stays in use", async () => {
  await using own = await startServer({ console: true });
  const cookie = await cookieOf(own.token, {}, own);
  const old = new Date(Date.now() - 3_600_000);
  await own.database.write.updateTable("ConsoleSession").set({ lastUsedAt: old }).execute();
  expect((await own.get("/console/session", asSession(cookie))).body.session).not.toBeNull();
  await vi.waitFor(async () => {
    const [session] = await own.database.read.selectFrom("ConsoleSession").select("lastUsedAt").execute();
    const [token] = await own.database.read.selectFrom("AccessToken").select("lastUsedAt").execute();
    expect(session!.lastUsedAt.getTime()).toBeGreaterThan(old.getTime());
    expect(token!.lastUsedAt).not.toBeNull();
  }, 30_000);
});

test("a token has a hundred sessions at most: the oldest ends for one more", async () => {
  const { token } = await addToken(server);
  const first = await cookieOf(token);
  for (let n = 1; n < 100; n += 1) await cookieOf(token);
  expect(await signedIn(first)).not.toBeNull();
  await cookieOf(token);
  expect(await signedIn(first)).toBeNull();
});

test("a sign-in link signs in once, within a day", async () => {
  const code = await createSignInLink(server.database, server.token);
  const answers = await Promise.all([signIn({ code }), signIn({ code }), signIn({ code })]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([204, 401, 401]);
  const old = await createSignInLink(server.database, server.token);
  const dayAgo = new Date(Date.now() - 24 * 3_600_000);
  await server.database.write.updateTable("SignInLink").set({ createdAt: dayAgo }).execute();
  expect((await signIn({ code: old })).status).toBe(401);
  await deleteEndedSessions(server.database, new AbortController().signal);
  expect(await server.database.read.selectFrom("SignInLink").selectAll().execute()).toEqual([]);
});

test("a sign-in link is worth nothing once its token was revoked", async () => {
  const { token, id } = await addToken(server);
  const code = await createSignInLink(server.database, token);
  await revokeAccessToken(commandLineContext(server.database, workspace!.id), { id });
  expect((await signIn({ code })).status).toBe(401);
});

test("a mutation of a session with an Idempotency-Key is carried out once", async () => {
  const cookie = await cookieOf(server.token);
  const query = 'mutation { createPrompt(input: { slug: "once" }) { prompt { slug } } }';
  const call = asSession(cookie, { "idempotency-key": "save-1" });
  const first = await server.graphql(query, {}, call);
  const again = await server.graphql(query, {}, call);
  expect(first.body).toEqual({ data: { createPrompt: { prompt: { slug: "once" } } } });
  expect([again.body, again.headers["idempotent-replayed"]]).toEqual([first.body, "true"]);
  const other = await server.graphql(
    query,
    {},
    asSession(await cookieOf(server.token), { "idempotency-key": "save-1" }),
  );
  expect(other.body.errors[0].extensions.code).toBe("CONFLICT"); // carried out, and the slug is taken
});

test("requests of a session count for the rate limit of its token", async () => {
  await using own = await startServer({ console: true, rateLimits: { perToken: 3, perAddress: null } });
  const call = asSession(await cookieOf(own.token, {}, own));
  const asked = [
    await own.graphql("{ __typename }", {}, call),
    await own.get("/prompts/none"),
    await own.graphql("{ __typename }", {}, call),
    await own.graphql("{ __typename }", {}, call),
  ];
  expect(asked.map(({ status }) => status)).toEqual([200, 404, 200, 429]);
});

test("the log has neither the token, nor the code, nor the secret of a session", async () => {
  const lines: string[] = [];
  await using own = await startServer({ console: true, log: (line) => lines.push(line) });
  const code = await createSignInLink(own.database, own.token);
  await signIn({ code }, {}, own);
  const cookie = await cookieOf(own.token, {}, own);
  await own.graphql("{ prompts { nodes { slug } } }", {}, asSession(cookie));
  await expect.poll(() => lines.join("")).toContain('"field":"prompts"');
  for (const secret of [own.token, code, cookie.split("=")[1]!]) expect(lines.join("")).not.toContain(secret);
});

test("without the console there is no signing in, and the cookie of a session does not count", async () => {
  const cookie = await cookieOf(server.token);
  await using bare = await startServer({ console: false });
  expect((await signIn({ token: bare.token }, {}, bare)).status).toBe(404);
  expect((await bare.graphql(ME, {}, asSession(cookie))).status).toBe(401);
});

test("of a host in a network only the cookie that no neighbouring host can set counts", async () => {
  const [, secret] = (await cookieOf(server.token)).split("=");
  const host = { host: "gabbro.example.com" };
  expect(await signedIn(`gabbro_80=${secret}`, host)).toBeNull();
  expect(await signedIn(`__Host-gabbro=${secret}`, host)).not.toBeNull();
});

test("a subscription that stays open does not keep its session in use", async () => {
  const cookie = await cookieOf(server.token);
  const secret = cookie.split("=")[1]!;
  const id = (await sessionsOfAll(cookie)).find(({ isCurrent }) => isCurrent)!.id;
  const anHourAgo = new Date(Date.now() - 3_600_000);
  const lastUse = async () => {
    const row = await server.database.read
      .selectFrom("ConsoleSession")
      .select("lastUsedAt")
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    return row.lastUsedAt.getTime();
  };
  await server.database.write
    .updateTable("ConsoleSession")
    .set({ lastUsedAt: anHourAgo })
    .where("id", "=", id)
    .execute();
  const { authenticate } = createSessionAuthentication(server.database, { warn: () => {} });
  await authenticate(secret, "watched");
  await new Promise((resolve) => setTimeout(resolve, 200)); // as long as the use below takes many times
  expect(await lastUse()).toBe(anHourAgo.getTime());
  await authenticate(secret, "used");
  await expect.poll(() => lastUse()).toBeGreaterThan(anHourAgo.getTime());
});

const lookUpsIn = (statements: Statement[]) =>
  statements.filter(({ sql }) => /^\s*select .* from [`"]console_sessions[`"]/is.test(sql));

test("the sessions of many subscribers are looked up together", async () => {
  const secrets = await Promise.all(
    Array.from({ length: 10 }, async () => (await cookieOf(server.token)).split("=")[1]!),
  );
  const { authenticate } = createSessionAuthentication(server.database, { warn: () => {} });
  const stop = await captureStatements(server);
  const found = await Promise.all(secrets.map((secret) => authenticate(secret, "watched")));
  expect(new Set(found.map(({ sessionId }) => sessionId)).size).toBe(10);
  expect(lookUpsIn(stop())).toHaveLength(1);
});

test("a session that many requests come with at once is looked up for the first one, and once for all others", async () => {
  const call = asSession(await cookieOf(server.token));
  const stop = await captureStatements(server);
  const answers = await Promise.all(Array.from({ length: 10 }, () => server.graphql(ME, {}, call)));
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect(lookUpsIn(stop()).length).toBeLessThanOrEqual(2);
});
