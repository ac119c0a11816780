import { afterAll, expect, test, vi } from "vitest";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { promptChanged } from "../../src/prompts/live.resolvers.ts";
import { publishPrompt } from "../../src/prompts/tags.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { revokeAccessToken } from "../../src/workspaces/tokens.resolvers.ts";
import { addPrompt, addToken, addWorkspace } from "../support/data.ts";
import { openEvents, subscribe } from "../support/events.ts";
import { startServer } from "../support/server.ts";
import { countTurns } from "../support/turns.ts";

const server = await startServer();
const { pubSub } = server.database;
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");
const workspaceId = await getWorkspaceId(server.database, "default");

const CHANGED = "subscription($slug: String!) { promptChanged(slug: $slug) { action tag version etag } }";

/** Follows a prompt by both APIs, which send the same: `next` gives it once. */
async function follow(slug: string, token?: string) {
  const rest = await openEvents(server, `/prompts/${slug}/events`, token);
  const graphql = await subscribe(server, CHANGED, { slug }, token);
  return {
    next: async () => {
      const [byRest, byGraphql] = await Promise.all([rest.next(), graphql.next()]);
      expect(byGraphql?.data?.promptChanged ?? null).toEqual(byRest);
      return byRest;
    },
    [Symbol.asyncDispose]: async () => {
      await rest[Symbol.asyncDispose]();
      await graphql[Symbol.asyncDispose]();
    },
  };
}

/** A prompt with two versions, the first of which is in production. */
async function twoVersions(slug: string, workspace = "default") {
  const versions = [{ version: "1.0.0" }, { version: "2.0.0", text: "Hello again" }];
  await addPrompt(server, { slug, versions, tags: { production: "1.0.0" }, workspace });
}

const publish = (slug: string, version: string, newTag = "production", token?: string) =>
  server.post(`/prompts/${slug}/publish`, { newTag, version }, token === undefined ? {} : { token });

const etagNow = async (slug: string) => {
  const { headers, status } = await server.get(`/prompts/${slug}`);
  return status === 200 ? headers.etag : null;
};

const mutate = (mutation: string) => server.run(`mutation { ${mutation} }`);

test("both APIs send the present state first, then what is done to the prompt, with the ETag that its answer has then", async () => {
  await twoVersions("guide");
  await using events = await follow("guide");
  const first = await etagNow("guide");
  expect(await events.next()).toEqual({ action: null, tag: "production", version: "1.0.0", etag: first });

  await publish("guide", "2.0.0");
  const second = await etagNow("guide");
  expect(second).not.toBe(first);
  expect(await events.next()).toEqual({
    ...{ action: "publishPrompt", tag: "production", version: "2.0.0" },
    etag: second,
  });

  await mutate('rollbackPromptTag(slug: "guide", input: {tag: "production"}) { promptTag { label } }');
  expect(await events.next()).toEqual({
    ...{ action: "rollbackPromptTag", tag: "production", version: "1.0.0" },
    etag: first,
  });

  await mutate(
    'createPromptVersion(slug: "guide", input: {version: "3.0.0", text: "x"}) { warnings { code } }',
  );
  expect(await events.next()).toEqual({
    ...{ action: "createPromptVersion", tag: "latest", version: "3.0.0" },
    etag: first,
  });

  await publish("guide", "3.0.0", "staging");
  const staged = { action: "publishPrompt", tag: "staging", version: "3.0.0", etag: first };
  expect(await events.next()).toEqual(staged);

  await mutate('updatePrompt(slug: "guide", input: {name: "Guide"}) { prompt { slug } }');
  const changed = { tag: null, version: null, etag: first };
  expect(await events.next()).toEqual({ action: "updatePrompt", ...changed });

  await mutate('setTagProtection(slug: "guide", input: {tag: "staging", protected: true}) { protectedTags }');
  expect(await events.next()).toEqual({ action: "setTagProtection", ...changed });

  await mutate('removePromptTag(slug: "guide", input: {tag: "production"}) { prompt { slug } }');
  expect(await etagNow("guide")).toBeNull();
  expect(await events.next()).toEqual({
    ...{ action: "removePromptTag", tag: "production", version: null },
    etag: null,
  });

  await mutate('deletePrompt(slug: "guide") { deletedPromptId }');
  expect(await events.next()).toEqual({ action: "deletePrompt", tag: null, version: null, etag: null });
  expect(await events.next()).toBeNull();
});

test("a client that reconnects gets the present state first, so that it misses nothing", async () => {
  await twoVersions("again");
  await (await follow("again"))[Symbol.asyncDispose]();
  await publish("again", "2.0.0");
  await using events = await follow("again");
  expect(await events.next()).toMatchObject({ action: null, version: "2.0.0" });
});

test("a stream goes on however much its prompt has in all of its changes together", async () => {
  const text = "x".repeat(1_000_000);
  const versions = ["1.0.0", "2.0.0"].map((version) => ({ version, text }));
  await addPrompt(server, { slug: "long", versions, tags: { production: "1.0.0" } });
  await using events = await openEvents(server, "/prompts/long/events");
  await events.next();
  for (let n = 1; n <= 40; n++) {
    const version = n % 2 === 0 ? "1.0.0" : "2.0.0";
    await publish("long", version);
    expect(await events.next()).toMatchObject({ version });
  }
});

test("a prompt without a production version is followed, too", async () => {
  await addPrompt(server, { slug: "draft", versions: [{ version: "1" }] });
  await using events = await follow("draft");
  expect(await events.next()).toEqual({ action: null, tag: null, version: null, etag: null });
  await publish("draft", "1");
  expect(await events.next()).toMatchObject({ action: "publishPrompt", etag: await etagNow("draft") });
});

test("two answers of a prompt have the same ETag if they are the same, and only then", async () => {
  const versions = ["Hi", "Hi", "Hello"].map((text, at) => ({ version: `${at + 1}`, text }));
  await addPrompt(server, { slug: "revised", versions });
  const seen: { etag: unknown; answer: string }[] = [];
  for (const version of ["1", "2", "3", "1", "3"]) {
    await publish("revised", version);
    await mutate(
      `updatePrompt(slug: "revised", input: {name: "Revised ${seen.length}"}) { prompt { slug } }`,
    );
    for (const choice of ["", "?tag=production", "?tag=latest", "?version=3", "?tag=missing"]) {
      const { headers, body } = await server.get(`/prompts/revised${choice}`);
      seen.push({ etag: headers.etag, answer: JSON.stringify(body) });
    }
  }
  const pairs = new Set(seen.map(({ etag, answer }) => `${etag} ${answer}`)).size;
  expect(new Set(seen.map(({ etag }) => etag)).size).toBe(pairs);
  expect(new Set(seen.map(({ answer }) => answer)).size).toBe(pairs);
  expect(pairs).toBe(8); // each version in production, and in place of the missing tag; version 3 by its tag and its name
});

test("the ETag names the content: a client that sends it is answered that nothing changed", async () => {
  await twoVersions("content");
  await using events = await follow("content");
  const { etag } = await events.next();
  const { status } = await server.get("/prompts/content", { headers: { "if-none-match": etag } });
  expect(status).toBe(304);
});

test("a change that changes nothing is not sent, nor one of other prompts", async () => {
  await twoVersions("still");
  await twoVersions("loud");
  await using events = await follow("still");
  await events.next();
  await publish("still", "1.0.0");
  await publish("loud", "2.0.0");
  await publish("still", "2.0.0");
  expect(await events.next()).toMatchObject({ action: "publishPrompt", version: "2.0.0" });
});

test("a token of another workspace hears nothing of this one, and has the prompt's slug to itself", async () => {
  await twoVersions("shared");
  await twoVersions("shared", "other");
  await using events = await follow("shared", other.token);
  expect(await events.next()).toMatchObject({ action: null, version: "1.0.0" });
  await publish("shared", "2.0.0");
  await publish("shared", "2.0.0", "theirs", other.token);
  expect(await events.next()).toMatchObject({ action: "publishPrompt", tag: "theirs" });
});

test("a prompt of another workspace is followed like one that does not exist", async () => {
  await twoVersions("ours");
  for (const slug of ["ours", "no-such-prompt"]) {
    const rest = await server.get(`/prompts/${slug}/events`, { token: other.token });
    const error = `Prompt "${slug}" does not exist.`;
    expect(rest).toMatchObject({ status: 404, body: { code: "PROMPT_NOT_FOUND", error } });
    await using events = await subscribe(server, CHANGED, { slug }, other.token);
    const { errors } = await events.next();
    expect(errors).toMatchObject([{ message: error, extensions: { code: "PROMPT_NOT_FOUND" } }]);
    expect(await events.next()).toBeNull();
  }
});

test("nothing is sent before the commit, and nothing of a transaction that is rolled back", async () => {
  await twoVersions("careful");
  await using events = await follow("careful");
  await events.next();
  const { body } = await server.graphql(
    'mutation { publishPrompt(slug: "careful", input: {newTag: "production", to: {version: "2.0.0"}}) { promptTag { id } } publishPrompt2: publishPrompt(slug: "careful", input: {newTag: "late", to: {version: "1.0.0"}}) { promptTag { id } } }',
    {},
    { headers: { "idempotency-key": "careful" } }, // so that both are one transaction
  );
  expect(body.errors).toBeUndefined();
  const etag = await etagNow("careful");
  expect(await events.next()).toMatchObject({ tag: "production", version: "2.0.0", etag });
  expect(await events.next()).toMatchObject({ tag: "late", etag });

  const { database } = server;
  const failing = Object.assign(commandLineContext(database, workspaceId), {
    database: { ...database, notifyOfPrompt: () => Promise.reject(new Error("no commit")) },
  });
  await expect(
    publishPrompt(failing, { slug: "careful", newTag: "production", version: "1.0.0" }),
  ).rejects.toThrow("no commit");
  await publish("careful", "1.0.0", "after");
  expect(await events.next()).toMatchObject({ tag: "after", etag: await etagNow("careful") });
});

test("a change that another process makes to the same database is sent, too", async () => {
  await twoVersions("shell");
  await using events = await follow("shell");
  await events.next();
  const database = await openDatabase(server.databaseUrl, entities, { poolSize: 5 });
  const context = commandLineContext(database, workspaceId);
  await publishPrompt(context, { slug: "shell", newTag: "production", version: "2.0.0" });
  await database.close();
  // On SQLite nobody says what was done, only that something was.
  expect((await events.next()).etag).toBe(await etagNow("shell"));
});

test.each([
  ["by the next check, though nothing happens", async () => {}],
  ["before the next event", async () => void (await publish("secret", "2.0.0"))],
])("who listens with a token that is revoked hears no more, %s", async (_, after) => {
  await server.run('mutation { deletePrompt(slug: "secret") { deletedPromptId } }');
  await twoVersions("secret");
  const { id, token } = await addToken(server, { scopes: ["read"] });
  await using events = await follow("secret", token);
  await events.next();
  await revokeAccessToken(commandLineContext(server.database, workspaceId), { id });
  await after();
  expect(await events.next()).toBeNull();
});

test("who listens with a token that expires hears no more", async () => {
  await twoVersions("brief");
  const { token } = await addToken(server, { expiresAt: new Date(Date.now() + 3_600_000) });
  await using events = await follow("brief", token);
  await events.next();
  const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now() + 3_600_001);
  try {
    expect(await events.next()).toBeNull();
  } finally {
    clock.mockRestore();
  }
});

test("who hangs up is not listened for any more", async () => {
  await twoVersions("hung");
  await expect.poll(() => pubSub.count()).toBe(0);
  const events = await follow("hung");
  await events.next();
  expect(pubSub.count()).toBe(2);
  await events[Symbol.asyncDispose]();
  await expect.poll(() => pubSub.count()).toBe(0);
});

test("who hangs up before the first event is not listened for, either", async () => {
  await twoVersions("gone");
  await expect.poll(() => pubSub.count()).toBe(0);
  const held = Promise.withResolvers<void>();
  const turn = vi.spyOn(server.database, "turn").mockReturnValue(held.promise);
  const abort = new AbortController();
  const headers = { authorization: `Bearer ${server.token}` };
  const asked = fetch(`${server.url}/prompts/gone/events`, { headers, signal: abort.signal });
  await expect.poll(() => pubSub.count()).toBe(1);
  abort.abort();
  await expect(asked).rejects.toThrow();
  turn.mockRestore();
  held.resolve();
  await expect.poll(() => pubSub.count()).toBe(0);
});

test("a stream whose first event takes too long is refused, and not listened for", async () => {
  await using own = await startServer({ sample: true, timeLimitMs: 50 });
  const held = Promise.withResolvers<void>();
  const turn = vi.spyOn(own.database, "turn").mockReturnValue(held.promise);
  await using refused = await openEvents(own, "/prompts/country-guide/events");
  expect(await refused.next()).toMatchObject({ code: "TIMED_OUT" });
  turn.mockRestore();
  held.resolve();
  await expect.poll(() => own.database.pubSub.count()).toBe(0);
});

test("a service that stops ends the streams, and does not wait for them", async () => {
  const own = await startServer({ sample: true });
  const events = await openEvents(own, "/prompts/country-guide/events");
  expect(await events.next()).toMatchObject({ action: null });
  await own[Symbol.asyncDispose]();
  expect(await events.next()).toBeNull();
});

test("a stream is stored by no cache, and HEAD is refused, as it would never end", async () => {
  await twoVersions("plain");
  await using events = await openEvents(server, "/prompts/plain/events");
  expect(Object.fromEntries(events.response.headers)).toMatchObject({
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
  });
  const { status, headers } = await server.request("HEAD", "/prompts/plain/events");
  expect([status, headers.allow]).toEqual([405, "GET"]);
});

test("who may not read is refused before the stream begins", async () => {
  await twoVersions("closed");
  const { token } = await addToken(server, { scopes: ["write"] });
  for (const [given, status] of [
    [null, 401],
    [token, 403],
  ] as const)
    expect((await server.get("/prompts/closed/events", { token: given })).status).toBe(status);
});

test("who follow one prompt are told of a change in turns of their workspace, although it is read once for all", async () => {
  await twoVersions("followed-by-many");
  const context = () => commandLineContext(server.database, workspaceId);
  const streams = await Promise.all(
    Array.from({ length: 20 }, () => promptChanged(context(), { slug: "followed-by-many" })),
  );
  for (const stream of streams) await stream.next();
  const turns = countTurns();
  const told = streams.map(async (stream) => {
    expect((await stream.next()).value).toMatchObject({ version: "2.0.0" });
    return turns.now();
  });
  await publish("followed-by-many", "2.0.0");
  expect(new Set(await Promise.all(told)).size).toBe(20);
  turns.stop();
  for (const stream of streams) await stream.return(undefined);
});

test("a prompt that is deleted while its state is read ends its stream as one that was deleted before", async () => {
  await twoVersions("deleted-meanwhile");
  const context = commandLineContext(server.database, workspaceId);
  const stream = await promptChanged(context, { slug: "deleted-meanwhile" });
  const removed = vi.spyOn(context.em, "findOne").mockResolvedValue(null); // its versions
  expect((await stream.next()).value).toMatchObject({ action: "deletePrompt", version: null });
  expect(removed).toHaveBeenCalled();
  expect((await stream.next()).done).toBe(true);
});
