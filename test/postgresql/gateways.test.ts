import pg from "pg";
import { afterAll, expect, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addPrompt, addToken } from "../support/data.ts";
import { openEvents, subscribe } from "../support/events.ts";
import { startServer } from "../support/server.ts";

// Two gateways on one database, as on two machines.
const one = await startServer();
const database = await openDatabase(one.databaseUrl, entities, { poolSize: 5 });
const two = await createApp(database, { corsOrigins: [] }, false);
afterAll(async () => {
  await two.close();
  await one[Symbol.asyncDispose]();
});
await addPrompt(one, {
  slug: "guide",
  versions: [{ version: "1" }, { version: "2" }],
  tags: { production: "1" },
});

const atTwo = async (method: "GET" | "POST", url: string, payload?: object) => {
  const headers = { authorization: `Bearer ${one.token}` };
  return (await two.inject({ method, url, headers, ...(payload && { payload }) })).json();
};
const publish = (version: string) =>
  atTwo("POST", "/graphql", {
    query: `mutation { publishPrompt(slug: "guide", input: { newTag: "production", to: { version: "${version}" } }) { promptTag { id } } }`,
  });
const servedAtOne = async () => (await one.get("/prompts/guide")).body.prompt.version;
/** Publishes a version at two, and waits until one serves it. */
const published = async (version: string) => {
  await publish(version);
  await vi.waitFor(async () => expect(await servedAtOne()).toBe(version), 1_000);
};
const caches = async () => {
  const { generation } = one.database;
  await vi.waitFor(() => expect(generation.now()).toBe(generation.now()), 10_000);
};

test("a gateway caches prompts, and drops within a second what another one changed", async () => {
  await caches();
  await published("1");
  // Version 1 may have been served before, and what gateways hear of its publication comes a moment later.
  await vi.waitFor(async () => {
    const { generation } = one.database;
    const [before, { hits }] = [generation.now(), { ...generation.reuse }];
    expect(await servedAtOne()).toBe("1");
    expect(generation.now()).toBe(before);
    expect(generation.reuse.hits).toBeGreaterThan(hits);
  }, 5_000);
  await published("2");
});

test("a token that is revoked at one gateway is refused within a second at the others", async () => {
  await caches();
  const { id, token } = await addToken(one);
  const read = async () => (await one.get("/prompts/guide", { token })).status;
  expect(await read()).toBe(200);
  await atTwo("POST", "/graphql", {
    query: `mutation { revokeAccessToken(id: "${id}") { accessToken { id } } }`,
  });
  await vi.waitFor(async () => expect(await read()).toBe(401), 1_000);
});

test("a tag that is protected at one gateway moves at no other one without the right to", async () => {
  await caches();
  const { token } = await addToken(one);
  const move = (version: string) =>
    one.run(
      `mutation { publishPrompt(slug: "guide", input: { newTag: "stable", to: { version: "${version}" } }) { promptTag { version } } }`,
      {},
      token,
    );
  expect(await move("1")).toEqual({ version: "1" });
  await atTwo("POST", "/graphql", {
    query:
      'mutation { setTagProtection(slug: "guide", input: { tag: "stable", protected: true }) { protectedTags } }',
  });
  expect(await move("2")).toMatchObject({ error: { code: "FORBIDDEN" } });
});

test("a gateway that lost its connection for notifications caches nothing, and listens again by itself", async () => {
  await caches();
  await one.database.orm.em
    .fork()
    .execute(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and query like 'listen%' or query = 'select 1' and datname = current_database() and pid <> pg_backend_pid()",
    );
  await publish("1");
  await vi.waitFor(async () => expect(await servedAtOne()).toBe("1"), 1_000);
  await caches();
  await publish("2");
  await vi.waitFor(async () => expect(await servedAtOne()).toBe("2"), 1_000);
});

test("a subscription gets the logs of every gateway, each once", async () => {
  await caches();
  await using events = await subscribe(one, 'subscription { logAdded(slug: "guide") { id } }');
  const ids: string[] = [];
  for (let n = 0; n < 5; n++) {
    ids.push((await atTwo("POST", "/monitor/log", { slug: "guide", output: n })).log.id);
    ids.push((await one.post("/monitor/log", { slug: "guide", output: n })).body.log.id);
  }
  const received: string[] = [];
  for (let n = 0; n < 10; n++) received.push((await events.next()).data.logAdded.id);
  expect(received.toSorted()).toEqual(ids.toSorted());
});

test("a subscription to logs ends where logs of other gateways may be missing, and another one begins", async () => {
  await caches();
  await using events = await subscribe(one, 'subscription { logAdded(slug: "deaf") { output } }');
  const log = (output: string) => atTwo("POST", "/monitor/log", { slug: "deaf", output });
  await log("before");
  expect(await events.next()).toEqual({ data: { logAdded: { output: "before" } } });
  const pids = await listeners();
  await database.orm.em.fork().execute(`select pg_terminate_backend(pid) from unnest(array[${pids}]) as pid`);
  await log("meanwhile");
  expect(await events.next()).toBeNull();
  await using again = await subscribe(one, 'subscription { logAdded(slug: "deaf") { output } }');
  await log("after");
  expect(await again.next()).toEqual({ data: { logAdded: { output: "after" } } });
});

test("a notification, which has 8,000 bytes at most, has room for the longest slug", async () => {
  const slug = "\u0001".repeat(512); // JSON writes six characters for each
  await using events = await subscribe(one, "subscription($s: String) { logAdded(slug: $s) { id } }", {
    s: slug,
  });
  await atTwo("POST", "/monitor/log", { slug: `${slug.slice(1)}-`, output: 1 });
  const { log } = await atTwo("POST", "/monitor/log", { slug, output: 1 });
  expect((await events.next()).data.logAdded.id).toBe(log.id);
});

test("a follower of a prompt gets a change of another gateway once it is committed, with the ETag of this one's answer", async () => {
  await caches();
  await published("1");
  await using events = await openEvents(one, "/prompts/guide/events");
  expect(await events.next()).toMatchObject({ action: null, version: "1" });
  for (const version of ["2", "1", "2"]) {
    await publish(version);
    const { headers } = await two.inject({
      ...{ method: "GET", url: "/prompts/guide" },
      headers: { authorization: `Bearer ${one.token}` },
    });
    const { etag } = headers;
    expect(await events.next()).toEqual({ action: "publishPrompt", tag: "production", version, etag });
    expect((await one.get("/prompts/guide")).headers.etag).toBe(etag);
  }
});

test("a follower of a prompt gets nothing of what another gateway rolls back", async () => {
  await caches();
  await published("2");
  await using events = await openEvents(one, "/prompts/guide/events");
  await events.next();
  const workspaceId = await getWorkspaceId(database, "default");
  const message = { slug: "guide", action: "publishPrompt", tag: "never", version: "1" };
  const rolledBack = database.fork(workspaceId).transactional(async (em) => {
    await database.notifyOfPrompt(em, workspaceId, message);
    throw new Error("no commit");
  });
  await expect(rolledBack).rejects.toThrow("no commit");
  await publish("1");
  expect(await events.next()).toMatchObject({ tag: "production", version: "1" });
});

test("a follower of a prompt gets what a gateway missed while it could not listen", async () => {
  await caches();
  await published("1");
  await using events = await openEvents(one, "/prompts/guide/events");
  expect(await events.next()).toMatchObject({ action: null, version: "1" });
  const { generation } = one.database;
  const pids = await listeners();
  await database.orm.em.fork().execute(`select pg_terminate_backend(pid) from unnest(array[${pids}]) as pid`);
  await vi.waitFor(() => expect(generation.now()).not.toBe(generation.now()), {
    timeout: 5_000,
    interval: 1,
  });
  await publish("2");
  expect(await events.next()).toMatchObject({ action: null, version: "2" });
});

test("who follows a prompt with a token that another gateway revokes hears no more", async () => {
  await caches();
  const { id, token } = await addToken(one);
  await using events = await openEvents(one, "/prompts/guide/events", token);
  await events.next();
  await atTwo("POST", "/graphql", {
    query: `mutation { revokeAccessToken(id: "${id}") { accessToken { id } } }`,
  });
  expect(await events.next()).toBeNull();
});

test("while a gateway cannot listen, all who subscribe with a token have it looked up once a second", async () => {
  await caches();
  const { token } = await addToken(one);
  const all = await Promise.all(
    Array.from({ length: 20 }, () => subscribe(one, "subscription { logAdded { id } }", {}, token)),
  );
  await expect.poll(() => one.database.pubSub.count()).toBe(20);
  {
    await using deaf = await withoutListening();
    for (let n = 0; n < 5; n++) {
      const id = (await one.post("/monitor/log", { slug: "x", output: n })).body.log.id;
      for (const events of all) expect((await events.next()).data.logAdded.id).toBe(id);
    }
    const lookUps = deaf
      .statements()
      .filter((sql) => /select .* from "access_tokens" where "hash"/.test(sql));
    expect(lookUps.length).toBeLessThan(50); // each of them for each event would be 100
  }
  for (const events of all) await events[Symbol.asyncDispose]();
  await caches();
});

/** Has both gateways lose their connections for notifications, and get no new ones until this is disposed of. */
async function withoutListening() {
  const { query } = pg.Client.prototype;
  const statements: string[] = [];
  const driver = vi.spyOn(pg.Client.prototype, "query").mockImplementation(function (
    this: pg.Client,
    ...given: unknown[]
  ) {
    const [first] = given as [string | { text: string }];
    const sql = typeof first === "string" ? first : first.text;
    statements.push(sql);
    if (sql.startsWith("listen")) return Promise.reject(new Error("no connection"));
    return Reflect.apply(query, this, given);
  });
  const pids = await listeners();
  await database.orm.em.fork().execute(`select pg_terminate_backend(pid) from unnest(array[${pids}]) as pid`);
  const { generation } = one.database;
  await vi.waitFor(() => expect(generation.now()).not.toBe(generation.now()), 10_000);
  return { statements: () => statements, [Symbol.asyncDispose]: async () => driver.mockRestore() };
}

/** The connections that listen, or show they are alive. */
async function listeners(): Promise<number[]> {
  const rows = await database.orm.em
    .fork()
    .execute(
      "select pid from pg_stat_activity where datname = current_database() and (query like 'listen gabbro_logs' or query = 'select 1')",
    );
  return rows.map(({ pid }) => Number(pid));
}

test("a token that is revoked while a gateway does not listen is refused once it listens again", async () => {
  await caches();
  const { id, token } = await addToken(one);
  // What asks for a prompt looks at the state a second time, after the token.
  const status = async () => (await one.graphql("{ __typename }", {}, { token })).status;
  const before = await listeners();
  {
    await using _ = await withoutListening();
    expect(await status()).toBe(200);
    await atTwo("POST", "/graphql", {
      query: `mutation { revokeAccessToken(id: "${id}") { accessToken { id } } }`,
    });
  }
  // Not by asking the gateway, which may change what it takes for unchanged.
  await vi.waitFor(async () => {
    const again = (await listeners()).filter((pid) => !before.includes(pid));
    expect(again).toHaveLength(2); // both gateways
  }, 10_000);
  expect(await status()).toBe(401);
});
