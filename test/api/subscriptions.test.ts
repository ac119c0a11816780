import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, test } from "vitest";
import { logAdded } from "../../src/logs/live.resolvers.ts";
import { traceOf } from "../../src/logs/resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { revokeAccessToken } from "../../src/workspaces/tokens.resolvers.ts";
import { addPrompt, addToken, addWorkspace } from "../support/data.ts";
import { subscribe } from "../support/events.ts";
import { type Server, startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
const other = await addWorkspace(server, "other");
await addPrompt(server, { slug: "guide", versions: [{ version: "1.0.0" }], tags: { production: "1.0.0" } });

const ADDED =
  "subscription($slug: String) { logAdded(slug: $slug) { id output prompt { slug } trace { name } } }";

const add = (record: object, token?: string) =>
  server.post(
    "/monitor/log",
    { slug: "guide", output: "hi", ...record },
    token === undefined ? {} : { token },
  );

const listeners = ({ database }: Server) => database.pubSub.count();

test("a log is published once it is stored, whole and with its relations, whichever API recorded it", async () => {
  await using events = await subscribe(server, ADDED);
  const rest = await add({ output: { answer: 42 }, name: "by rest" });
  expect(await events.next()).toEqual({
    data: {
      logAdded: {
        id: rest.body.log.id,
        output: { answer: 42 },
        prompt: { slug: "guide" },
        trace: { name: "by rest" },
      },
    },
  });
  await server.graphql(
    'mutation { logPrompt(input: {slug: "guide", output: "x", name: "by graphql"}) { warning } }',
  );
  expect(await events.next()).toMatchObject({ data: { logAdded: { trace: { name: "by graphql" } } } });
});

test("many logs are published in the order in which they were acknowledged, each once", async () => {
  await using events = await subscribe(server, ADDED);
  const ids: string[] = [];
  for (let n = 0; n < 50; n++) ids.push((await add({})).body.log.id);
  const received: string[] = [];
  for (let n = 0; n < 50; n++) received.push((await events.next()).data.logAdded.id);
  expect(received).toEqual(ids);
});

test("a subscription to one prompt gets its logs only, whether the prompt exists or not", async () => {
  await using events = await subscribe(server, ADDED, { slug: "unknown-one" });
  await add({});
  const { body } = await add({ slug: "unknown-one" });
  expect((await events.next()).data.logAdded.id).toBe(body.log.id);
});

test("a subscription of another workspace gets its own logs only", async () => {
  await using events = await subscribe(server, ADDED, {}, other.token);
  await add({});
  const theirs = await add({ output: "theirs" }, other.token);
  expect((await events.next()).data.logAdded.id).toBe(theirs.body.log.id);
});

test("a listener hears nothing of another workspace, however much is added there", async () => {
  const { pubSub } = server.database;
  const workspace = await getWorkspaceId(server.database, "default");
  const listening = pubSub.listen({ workspaceId: workspace, tokenId: null });
  const first = listening.next();
  for (let n = 0; n < 1_100; n++) pubSub.publish(other.id, { id: `${n}`, traceId: "", promptSlug: "" });
  pubSub.publish(workspace, { id: "own", traceId: "", promptSlug: "" });
  expect((await first).value).toMatchObject({ id: "own" });
  await listening.return(undefined);
});

test("a log of another workspace is published to nobody, even if its id was announced", async () => {
  await using events = await subscribe(server, ADDED);
  const theirs = await add({ output: "theirs" }, other.token);
  const workspace = await getWorkspaceId(server.database, "default");
  server.database.pubSub.publish(workspace, { id: theirs.body.log.id, traceId: "", promptSlug: "" });
  const { body } = await add({});
  expect((await events.next()).data.logAdded.id).toBe(body.log.id);
});

test("a log that is refused is not published", async () => {
  await using events = await subscribe(server, ADDED);
  expect((await add({ output: null })).status).toBe(400);
  const { body } = await add({});
  expect((await events.next()).data.logAdded.id).toBe(body.log.id);
});

test("who hangs up is not listened for any more", async () => {
  await expect.poll(() => listeners(server)).toBe(0);
  const events = await subscribe(server, ADDED);
  expect(listeners(server)).toBe(1);
  await events[Symbol.asyncDispose]();
  await expect.poll(() => listeners(server)).toBe(0);
});

test("a revoked token gets no more events", async () => {
  const { id, token } = await addToken(server, { scopes: ["read"] });
  await using events = await subscribe(server, ADDED, {}, token);
  await add({});
  expect(await events.next()).toMatchObject({ data: { logAdded: { output: "hi" } } });
  const workspace = await getWorkspaceId(server.database, "default");
  await revokeAccessToken(commandLineContext(server.database, workspace), { id });
  await add({ output: "secret" });
  expect(await events.next()).toBeNull();
});

test.each<[string, string | null, string]>([
  ["no token", null, "UNAUTHENTICATED"],
  ["a token that may only write", (await addToken(server, { scopes: ["write"] })).token, "FORBIDDEN"],
])("with %s there is nothing to listen to", async (_, token, code) => {
  await expect.poll(() => listeners(server)).toBe(0);
  await using events = await subscribe(server, ADDED, {}, token);
  expect(await events.next()).toMatchObject({ errors: [{ extensions: { code } }] });
  expect(await events.next()).toBeNull();
  expect(listeners(server)).toBe(0);
});

test("a wrong argument is refused in the words of the other operations", async () => {
  await using events = await subscribe(server, "subscription { logAdded(slug: 5) { id } }");
  expect(await events.next()).toMatchObject({ errors: [{}] });
});

test("a field of a log that fails has its code and leaves the log's other fields", async () => {
  const { token } = await addToken(server, { scopes: ["read"] });
  const { body } = await add({});
  const workspace = await getWorkspaceId(server.database, "default");
  await using events = await subscribe(
    server,
    "subscription { logAdded { id first: prompt { versions { nodes { version } } } } }",
    {},
    token,
  );
  await server.database.orm.em.fork().execute("alter table prompt_versions rename to elsewhere");
  try {
    server.database.pubSub.publish(workspace, { id: body.log.id, traceId: "", promptSlug: "guide" });
    const { data, errors } = await events.next();
    expect(data.logAdded.first).toBeNull();
    expect(errors).toMatchObject([
      { message: expect.stringContaining("request id"), extensions: { code: "INTERNAL" } },
    ]);
  } finally {
    await server.database.orm.em.fork().execute("alter table elsewhere rename to prompt_versions");
  }
});

test("an error in a subscription is answered without internals and logged whole", async () => {
  const lines: string[] = [];
  await using own = await startServer({ log: (line) => lines.push(line) });
  const workspace = await getWorkspaceId(own.database, "default");
  await using events = await subscribe(own, "subscription { logAdded { id } }");
  await own.database.orm.em.fork().execute("alter table logs rename to elsewhere");
  own.database.pubSub.publish(workspace, {
    id: "01890a5d-ac96-774b-bcce-b302099a8057",
    traceId: "",
    promptSlug: "x",
  });
  expect(await events.next()).toMatchObject({ errors: [{ extensions: { code: "INTERNAL" } }] });
  expect(lines.join()).toMatch(/no such table: logs|relation "logs" does not exist|relation \\"logs/);
});

test("what was sent is not held for as long as the subscription is open", async () => {
  await using own = await startServer();
  const sent: WeakRef<object>[] = [];
  const workspace = await getWorkspaceId(own.database, "default");
  const context = commandLineContext(own.database, workspace);
  const logs = logAdded(context, {});
  const first = logs.next();
  for (let n = 0; n < 20; n++) {
    await own.post("/monitor/log", { slug: "x", output: n, metadata: { n } });
    const { value } = n === 0 ? await first : await logs.next();
    sent.push(new WeakRef(await traceOf(context, value)));
  }
  setFlagsFromString("--expose-gc");
  for (let n = 0; n < 3; n++) {
    (runInNewContext("gc") as () => void)();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await logs.return();
  expect(sent.filter((trace) => trace.deref()).length).toBeLessThan(5);
});

test("a subscription that is not asked for as events gets an error that says how to ask", async () => {
  for (const accept of ["application/json", "application/graphql-response+json", "multipart/mixed"]) {
    const { status, body } = await server.graphql(
      "subscription { logAdded { id } }",
      {},
      { headers: { accept } },
    );
    expect([accept, status, body.errors[0]]).toMatchObject([
      accept,
      400,
      { extensions: { code: "BAD_REQUEST" } },
    ]);
    expect(body.errors[0].message).toContain("text/event-stream");
  }
});

test("a query that is asked for as events gets one, in an answer that is held as a text with its length", async () => {
  const output = "x".repeat(100_000);
  await server.graphql("mutation($i: LogPromptInput!) { logPrompt(input: $i) { __typename } }", {
    i: { slug: "long", output },
  });
  const asked = await server.graphql(
    "{ logs(first: 1) { nodes { output } } }",
    {},
    { headers: { accept: "text/event-stream" } },
  );
  expect(asked.headers["content-type"]).toMatch(/^text\/event-stream/);
  expect(asked.body).toContain(
    `event: next\ndata: {"data":{"logs":{"nodes":[{"output":"${output}"}]}}}\n\nevent: complete\n`,
  );
  expect(Number(asked.headers["content-length"])).toBe(asked.body.length);
});

test("an answer of a query by events has at most 4 MB, however the type is written; by JSON it may have more", async () => {
  const output = "x".repeat(2_500_000);
  await server.graphql("mutation($i: LogPromptInput!) { logPrompt(input: $i) { __typename } }", {
    i: { slug: "longer", output },
  });
  const ask = async (count: number, accept: string) => {
    const outputs = Array.from({ length: count }, (_, n) => `o${n}: output`).join(" ");
    const query = `{ logs(first: 1) { nodes { ${outputs} } } }`;
    const { body } = await server.graphql(query, {}, { headers: { accept } });
    return typeof body === "string" ? body : JSON.stringify(body);
  };
  for (const accept of [
    "text/event-stream",
    "Text/Event-Stream, application/json",
    "a/b, text/event-stream;q=0.1",
    "application/jsonx, text/event-stream",
    "multipart/mixed, text/event-stream, application/json",
  ]) {
    expect(await ask(1, accept), accept).toContain(output);
    expect(await ask(2, accept), accept).toContain("larger than 4 MB");
  }
  for (const accept of ["application/json, text/event-stream", "text/ event-stream, application/json"])
    expect(await ask(2, accept), accept).toContain(`{"data":{"logs":{"nodes":[{"o0":"${output}"`);
});

test("a listener that falls a thousand logs behind is cut off, and the others are served", async () => {
  await using own = await startServer();
  const workspace = await getWorkspaceId(own.database, "default");
  const slow = own.database.pubSub.listen({ workspaceId: workspace, tokenId: null });
  const first = slow.next();
  await using events = await subscribe(own, "subscription { logAdded { id } }");
  const { body } = await own.post("/monitor/log", { slug: "x", output: 1 });
  expect((await first).value).toMatchObject({ id: body.log.id });
  expect((await events.next()).data.logAdded.id).toBe(body.log.id);
  for (let n = 0; n < 1_100; n++)
    own.database.pubSub.publish(workspace, { id: body.log.id, traceId: "", promptSlug: "x" });
  await expect.poll(() => own.database.pubSub.count()).toBeLessThan(2);
  let received = 0;
  for await (const _ of slow) received++;
  expect(received).toBeLessThan(1_100);
});

test("a listener to one prompt is not cut off by thousands of logs of others", async () => {
  const workspace = await getWorkspaceId(server.database, "default");
  await using events = await subscribe(server, ADDED, { slug: "quiet" });
  await add({ slug: "quiet" });
  expect((await events.next()).data.logAdded).toBeTruthy();
  for (let n = 0; n < 2_000; n++)
    server.database.pubSub.publish(workspace, { id: String(n), traceId: "", promptSlug: "loud" });
  const { body } = await add({ slug: "quiet" });
  expect((await events.next()).data.logAdded.id).toBe(body.log.id);
});

test("logs that wait for a slow subscriber are sent in pieces, and others are served in between", async () => {
  await using own = await startServer();
  const workspace = await getWorkspaceId(own.database, "default");
  await using events = await subscribe(own, "subscription { logAdded { id } }");
  const { body } = await own.post("/monitor/log", { slug: "x", output: 1 });
  for (let n = 0; n < 500; n++)
    own.database.pubSub.publish(workspace, { id: body.log.id, traceId: "", promptSlug: "x" });
  let turns = 0;
  const turn = () => {
    turns += 1;
    next = setImmediate(turn);
  };
  let next = setImmediate(turn);
  for (let n = 0; n < 501; n++) await events.next();
  clearImmediate(next);
  expect(turns).toBeGreaterThan(450);
});

test("who comes while the service stops is sent away and does not hold it up", async () => {
  const own = await startServer();
  const workspace = await getWorkspaceId(own.database, "default");
  own.database.pubSub.close();
  expect(await own.database.pubSub.listen({ workspaceId: workspace, tokenId: null }).next()).toMatchObject({
    done: true,
  });
  expect(own.database.pubSub.count()).toBe(0);
  await own[Symbol.asyncDispose]();
});

test("a service that stops ends what is listened to, and does not wait for it", async () => {
  const own = await startServer();
  const events = await subscribe(own, "subscription { logAdded { id } }");
  const started = performance.now();
  await own[Symbol.asyncDispose]();
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(await events.next()).toBeNull();
});
