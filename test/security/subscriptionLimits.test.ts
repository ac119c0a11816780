import { createHook } from "node:async_hooks";
import { connect } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import {
  createPubSub,
  MAX_PROMPT_SUBSCRIPTIONS,
  MAX_SUBSCRIPTION_MS,
  MAX_SUBSCRIPTIONS,
} from "../../src/database/pubsub.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addPrompt, addToken } from "../support/data.ts";
import { openEvents, subscribe } from "../support/events.ts";
import { startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
afterEach(() => {
  vi.useRealTimers();
});

const log = (record: object) => server.post("/monitor/log", { slug: "x", output: "hi", ...record });
const { pubSub } = server.database;

test("an event that would have too many fields is an error, as the answer of a query would be", async () => {
  await addPrompt(server, { slug: "wide" });
  const variables = Array.from({ length: 1_000 }, (_, n) => ({ label: `v${n}` }));
  const create =
    'mutation($input: PromptVersionInput!) { createPromptVersion(slug: "wide", input: $input) { warnings { message } } }';
  for (let n = 0; n < 25; n++) await server.run(create, { input: { version: `${n}`, text: "x", variables } });
  const labels = Array.from({ length: 9 }, (_, n) => `a${n}: label`).join(" ");
  const fields = `prompt { versions { nodes { variables { ${labels} } } } }`;
  await expect.poll(() => pubSub.count()).toBe(0);
  await using events = await subscribe(server, `subscription { logAdded(slug: "wide") { ${fields} } }`);
  await expect.poll(() => pubSub.count()).toBe(1);
  await log({ slug: "wide" });
  expect(await events.next()).toMatchObject({ errors: [{ extensions: { code: "QUERY_TOO_COMPLEX" } }] });
});

test("a token may have twenty subscriptions open, and another one when it has closed one", async () => {
  await expect.poll(() => pubSub.count()).toBe(0);
  const { token } = await addToken(server, { scopes: ["read"] });
  const open = () => subscribe(server, "subscription { logAdded { id } }", {}, token);
  const opened = await Promise.all(Array.from({ length: MAX_SUBSCRIPTIONS.token }, open));
  await expect.poll(() => pubSub.count()).toBe(MAX_SUBSCRIPTIONS.token);
  const refused = await open();
  const { errors } = await refused.next();
  expect(errors).toMatchObject([
    {
      message: expect.stringMatching(/20 subscriptions open.*Close one/),
      extensions: { code: "TOO_MANY_REQUESTS" },
    },
  ]);
  await opened.pop()![Symbol.asyncDispose]();
  await expect.poll(() => pubSub.count()).toBe(MAX_SUBSCRIPTIONS.token - 1);
  await using another = await open();
  const { body } = await log({});
  expect((await another.next()).data.logAdded.id).toBe(body.log.id);
  for (const events of opened) await events[Symbol.asyncDispose]();
});

test("many who come at once are no more than a token may have", async () => {
  const { token } = await addToken(server, { scopes: ["read"] });
  const all = await Promise.all(
    Array.from({ length: 60 }, () => subscribe(server, "subscription { logAdded { id } }", {}, token)),
  );
  await expect.poll(() => pubSub.count()).toBeGreaterThanOrEqual(MAX_SUBSCRIPTIONS.token);
  expect(pubSub.count()).toBe(MAX_SUBSCRIPTIONS.token);
  for (const events of all) await events[Symbol.asyncDispose]();
  await expect.poll(() => pubSub.count()).toBe(0);
});

test.each(["workspace", "process"] as const)(
  "the subscriptions of a %s are limited, whoever has them",
  (of) => {
    const own = createPubSub();
    const listen = (n: number) => {
      const listening = own.listen({
        workspaceId: of === "workspace" ? "one" : `workspace ${Math.floor(n / 20)}`,
        tokenId: `token ${Math.floor(n / 10)}`,
      });
      void listening.next();
      return listening;
    };
    for (let n = 0; n < MAX_SUBSCRIPTIONS[of]; n++) listen(n);
    expect(own.count()).toBe(MAX_SUBSCRIPTIONS[of]);
    expect(() => listen(0)).toThrow(`${MAX_SUBSCRIPTIONS[of]} subscriptions open`);
    own.close();
  },
);

test("the streams of prompts of a token and of a workspace are limited apart from other subscriptions", () => {
  const own = createPubSub();
  const listen = (workspaceId: string, tokenId: string) => {
    const listening = own.prompts.listen({ workspaceId, tokenId });
    void listening.next();
  };
  const { token, workspace } = MAX_PROMPT_SUBSCRIPTIONS;
  for (let n = 0; n < token; n++) listen("one", "token");
  expect(() => listen("one", "token")).toThrow(`This access token has ${token} subscriptions open`);
  for (let n = token; n < workspace; n++) listen("one", "another");
  expect(() => listen("one", "third")).toThrow(`This workspace has ${workspace} subscriptions open`);
  expect(() => own.listen({ workspaceId: "one", tokenId: "token" })).not.toThrow();
  own.close();
});

test("a workspace gets an equal share of the streams of a process, also when four others have taken all", () => {
  const own = createPubSub();
  const listen = (workspaceId: string) =>
    void own.prompts.listen({ workspaceId, tokenId: workspaceId }).next();
  const { workspace, process } = MAX_PROMPT_SUBSCRIPTIONS;
  for (const greedy of ["one", "two", "three", "four"]) for (let n = 0; n < workspace; n++) listen(greedy);
  expect(own.count()).toBe(process);
  for (let n = 0; n < process / 5; n++) listen("fifth");
  expect(() => listen("fifth")).toThrow(`The service has ${process} subscriptions open`);
  own.close();
});

test("whether a caller has ended is asked once a second for all its subscriptions, and ends all of them", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const own = createPubSub();
  const asked: string[] = [];
  const ended = new Set<string>();
  const listen = (id: string) => {
    const hasEnded = async () => {
      asked.push(id);
      return ended.has(id);
    };
    const subscriber = { workspaceId: "one", tokenId: "token", caller: { id, hasEnded } };
    void own.prompts.listen(subscriber).next();
  };
  for (let n = 0; n < 100; n++) listen("one");
  for (let n = 0; n < 10; n++) listen("other");
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked.toSorted()).toEqual(["one", "other"]);
  ended.add("one");
  await vi.advanceTimersByTimeAsync(1_000);
  await expect.poll(() => own.count()).toBe(10);
  own.close();
});

test("a stream of a prompt beyond the limits is refused before it begins", async () => {
  await addPrompt(server, { slug: "followed" });
  await expect.poll(() => pubSub.count()).toBe(0);
  const { id, token } = await addToken(server, { scopes: ["read"] });
  const workspaceId = await getWorkspaceId(server.database, "default");
  const all = Array.from({ length: MAX_PROMPT_SUBSCRIPTIONS.token }, () =>
    pubSub.prompts.listen({ workspaceId, tokenId: id }),
  );
  for (const listening of all) void listening.next();
  const refused = await server.get("/prompts/followed/events", { token });
  expect(refused).toMatchObject({ status: 429, body: { code: "TOO_MANY_REQUESTS" } });
  expect(refused.headers["retry-after"]).toBe("60");
  for (const listening of all) await listening.return(undefined);
});

test("a stream on which nothing happens is kept alive by comments, which are no events", async () => {
  await addPrompt(server, { slug: "quiet" });
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const response = await fetch(`${server.url}/prompts/quiet/events`, {
    headers: { authorization: `Bearer ${server.token}` },
  });
  const chunks = response.body!.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  expect((await chunks.next()).value).toMatch(/^data: \{.*\}\n\n$/);
  for (let n = 0; n < 1_100; n++) {
    await vi.advanceTimersByTimeAsync(15_000);
    expect((await chunks.next()).value).toBe(": still here\n\n");
  }
  vi.useRealTimers();
  await chunks.return!(undefined);
});

test("of a prompt 16 messages wait for a follower that does not read, and then its present state stands for the others", async () => {
  const own = createPubSub();
  const isWanted = vi.fn((message: { slug: string } | null) => message?.slug !== "other");
  const messages = own.prompts.listen({ workspaceId: "one", tokenId: null }, isWanted);
  expect((await messages.next()).value).toBeNull();
  const change = (version: string, slug = "busy") =>
    own.prompts.publish("one", { slug, action: "publishPrompt", tag: "t", version });
  for (let n = 0; n < 5_000; n++) change(`${n}`);
  const read: (string | null)[] = [];
  const next = async () => read.push((await messages.next()).value?.version ?? null);
  for (let n = 0; n < 17; n++) await next();
  expect(read).toEqual([...Array.from({ length: 16 }, (_, n) => `${n}`), null]);
  change("elsewhere", "other");
  change("later");
  await next();
  expect(read.at(-1)).toBe("later");
  own.close();
});

test("logs that wait for a subscriber take no promises, nor does the end of the subscription", async () => {
  const own = createPubSub();
  const messages = own.listen({ workspaceId: "one", tokenId: null });
  const first = messages.next();
  let promises = 0;
  const counting = createHook({
    init: (_, type) => {
      if (type === "PROMISE") promises += 1;
    },
  });
  counting.enable();
  for (let n = 0; n < 1_001; n++) own.publish("one", { id: `${n}`, traceId: "", promptSlug: "" });
  expect(own.count()).toBe(1);
  own.publish("one", { id: "one too many", traceId: "", promptSlug: "" });
  expect((await first).value).toMatchObject({ id: "0" });
  await expect.poll(() => own.count()).toBe(0);
  counting.disable();
  expect(promises).toBeLessThan(500);
  expect(await messages.next()).toMatchObject({ done: true });
});

test("a prompt, and a token, is read once for all who follow it", async () => {
  const versions = [{ version: "1" }, { version: "2", text: "Two" }];
  await addPrompt(server, { slug: "popular", versions, tags: { production: "1" } });
  const all = await Promise.all(
    Array.from({ length: 10 }, () => openEvents(server, "/prompts/popular/events")),
  );
  for (const events of all) await events.next();
  const stop = await captureStatements(server);
  await server.post("/prompts/popular/publish", { newTag: "production", version: "2" });
  for (const events of all) expect(await events.next()).toMatchObject({ version: "2" });
  const statements = stop().map(({ sql }) => sql.replaceAll("`", '"'));
  const ofPrompts = statements.filter((sql) => /^\s*select .* from "prompts" .*deleted_at/is.test(sql));
  expect(ofPrompts.length).toBeLessThanOrEqual(2); // for the change itself, and for the events
  const ofTokens = statements.filter((sql) => /^\s*select .* from "access_tokens" /is.test(sql));
  expect(ofTokens.length).toBeLessThanOrEqual(2);
  for (const events of all) await events[Symbol.asyncDispose]();
});

test("a subscription ends after an hour, and its client may subscribe again", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const own = createPubSub();
  const listening = own.listen({ workspaceId: "one", tokenId: null });
  const next = listening.next();
  await vi.advanceTimersByTimeAsync(MAX_SUBSCRIPTION_MS - 1);
  expect(own.count()).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(await next).toMatchObject({ done: true });
  expect(own.count()).toBe(0);
});

test("a log is read once for all who hear of it", async () => {
  const all = await Promise.all(
    Array.from({ length: 10 }, () => subscribe(server, "subscription { logAdded { id output } }")),
  );
  await expect.poll(() => pubSub.count()).toBe(10);
  const stop = await captureStatements(server);
  const { body } = await log({ output: { answer: 42 } });
  for (const events of all)
    expect((await events.next()).data.logAdded).toEqual({ id: body.log.id, output: { answer: 42 } });
  const reads = stop().filter(({ sql }) => /^\s*select .* from [`"]logs[`"]/is.test(sql));
  expect(reads.length).toBeLessThanOrEqual(3); // the log, the length of its output, and the output
  for (const events of all) await events[Symbol.asyncDispose]();
});

test("the events of a workspace are answered one after another", async () => {
  await expect.poll(() => pubSub.count()).toBe(0);
  const { token } = await addToken(server, { scopes: ["read"] });
  const query = "subscription { logAdded { trace { name logs { nodes { id output } } } } }";
  const mostReadsAtOnce = async (subscribers: number): Promise<number> => {
    const open = () => subscribe(server, query, {}, token);
    const opened = await Promise.all(Array.from({ length: subscribers }, open));
    await expect.poll(() => pubSub.count()).toBe(subscribers);
    const { rows } = server.database;
    let [reads, most] = [0, 0];
    const reading = vi.spyOn(server.database, "rows").mockImplementation(async (query) => {
      reads += 1;
      most = Math.max(most, reads);
      await nextTurn();
      try {
        return await rows(query);
      } finally {
        reads -= 1;
      }
    });
    await log({});
    for (const events of opened) expect((await events.next()).errors).toBeUndefined();
    reading.mockRestore();
    for (const events of opened) await events[Symbol.asyncDispose]();
    await expect.poll(() => pubSub.count()).toBe(0);
    return most;
  };
  const mostOfOne = await mostReadsAtOnce(1);
  expect(mostOfOne).toBeGreaterThan(0);
  expect(await mostReadsAtOnce(10)).toBe(mostOfOne);
});

test("what listeners share of a log is written for each in a turn of its own", async () => {
  const listen = "subscription { logAdded { output } }";
  const all = await Promise.all(Array.from({ length: 8 }, () => subscribe(server, listen)));
  await vi.waitFor(() => expect(pubSub.count()).toBe(8), { timeout: 10_000 });
  const turn = vi.spyOn(server.database, "turn");
  await log({ output: "word" });
  for (const events of all) await events.next();
  expect(turn.mock.calls.length).toBeGreaterThanOrEqual(7); // for all but the first
  turn.mockRestore();
  for (const events of all) await events[Symbol.asyncDispose]();
  await vi.waitFor(() => expect(pubSub.count()).toBe(0), { timeout: 10_000 });
});

test("an event that would be too large is an error, and the next one is sent", async () => {
  await using events = await subscribe(server, "subscription { logAdded { id a: output b: output } }");
  const megabytes = (count: number) => "word ".repeat((count * 1024 * 1024) / 5);
  await log({ output: megabytes(0.75) });
  expect(await events.next()).toMatchObject({ errors: [{ extensions: { code: "QUERY_TOO_COMPLEX" } }] });
  await log({ output: megabytes(0.25) });
  const { data, errors } = await events.next();
  expect(errors).toBeUndefined();
  expect(data.logAdded.b).toHaveLength(data.logAdded.a.length);
});

test("an event has some 1,200 numbers with a fraction twice, as each listener's is written in one turn", async () => {
  await using events = await subscribe(server, "subscription { logAdded { a: output b: output } }");
  await log({ output: Array(1_250).fill(0.5) });
  expect(await events.next()).toMatchObject({ errors: [{ extensions: { code: "QUERY_TOO_COMPLEX" } }] });
  await log({ output: Array(1_150).fill(0.5) });
  expect((await events.next()).data.logAdded.b).toHaveLength(1_150);
});

test("a listener that does not read is cut off, and nothing is gathered for it", async () => {
  await expect.poll(() => pubSub.count()).toBe(0);
  const body = JSON.stringify({ query: "subscription { logAdded { id output } }" });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.pause();
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${server.token}\r\naccept: text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await expect.poll(() => pubSub.count()).toBe(1);
  const workspace = await getWorkspaceId(server.database, "default");
  const { body: logged } = await log({ output: "word ".repeat(200_000) });
  for (let sent = 0; pubSub.count() > 0 && sent < 3_000; sent++) {
    pubSub.publish(workspace, { id: logged.log.id, traceId: "", promptSlug: "x" });
    await new Promise((resolve) => setImmediate(resolve));
  }
  await expect.poll(() => pubSub.count()).toBe(0);
  socket.destroy();
});

test("the long work of one workspace waits behind a single piece of another's", async () => {
  const order: string[] = [];
  const turnOf = async (workspaceId: string) => {
    await server.database.turn(workspaceId);
    order.push(workspaceId);
  };
  const all = Array.from({ length: 50 }, () => turnOf("busy"));
  all.push(turnOf("other"), turnOf("third"));
  await Promise.all(all);
  expect(order.indexOf("other")).toBeLessThanOrEqual(1);
  expect(order.indexOf("third")).toBeLessThanOrEqual(2);
  expect(order).toHaveLength(52);
});

test("a subscription has a document of about 500 tokens and lines at most, and variables and extensions of 16,384 characters", async () => {
  const { token } = await addToken(server, { scopes: ["read"] });
  const open = (fields: number, variables = {}, between = " ") => {
    const labels = Array.from({ length: fields }, () => "etag @skip(if: false)").join(between);
    const query = `subscription { promptChanged(slug: "x") { etag ${labels} } }`;
    return subscribe(server, query, variables, token);
  };
  await addPrompt(server, { slug: "x" });
  const refusalOf = async (...given: Parameters<typeof open>) => {
    await using events = await open(...given);
    return (await events.next()).errors?.[0].extensions.code;
  };
  expect(await refusalOf(50, { x: "y".repeat(16_000) })).toBeUndefined();
  expect(await refusalOf(70)).toBe("QUERY_TOO_COMPLEX");
  expect(await refusalOf(50, {}, "\n")).toBeUndefined();
  expect(await refusalOf(60, {}, "\n")).toBe("QUERY_TOO_COMPLEX");
  expect(await refusalOf(1, { x: "y".repeat(17_000) })).toBe("BAD_INPUT");
  expect(await refusalOf(1, { x: Array.from({ length: 600 }, () => ({})) })).toBe("BAD_INPUT");
});
