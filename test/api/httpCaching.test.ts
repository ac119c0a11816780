import { afterAll, expect, test } from "vitest";
import { addDataset, addToken } from "../support/data.ts";
import { subscribe } from "../support/events.ts";
import { announced, put } from "../support/files.ts";
import { type Answer, startServer } from "../support/server.ts";

const METRICS_TOKEN = "a-token-for-metrics-only-1";
const server = await startServer({
  sample: true,
  metricsToken: METRICS_TOKEN,
  corsOrigins: ["https://app.example.com"],
});
afterAll(() => server[Symbol.asyncDispose]());
const reader = await addToken(server, { scopes: ["read"] });

const headersOf = ({ headers }: Pick<Answer, "headers">) => ({
  caching: headers["cache-control"],
  varies: String(headers.vary)
    .split(",")
    .map((name) => name.trim().toLowerCase()),
});

const OWN = "private, no-cache";

test.each<[string, () => Promise<Answer>, number]>([
  ["a dataset", () => server.get("/datasets/country-quiz"), 200],
  ["a prompt", () => server.get("/prompts/country-guide"), 200],
  ["a log that is added", () => server.post("/monitor/log", { slug: "country-guide", output: 1 }), 200],
  ["what does not exist", () => server.get("/datasets/nope"), 404],
  ["no token", () => server.get("/datasets/country-quiz", { token: null }), 401],
  ["another token", () => server.get("/datasets/country-quiz", { token: "gab_x" }), 401],
  [
    "a token without the scope",
    () => server.post("/monitor/log", { slug: "country-guide", output: 1 }, reader),
    403,
  ],
  ["bad input", () => server.post("/monitor/log", {}), 400],
  ["no such path", () => server.get("/nope"), 404],
])("no cache gives the answer of one token to another: %s", async (_, ask, status) => {
  const answer = await ask();
  expect(answer.status).toBe(status);
  const { caching, varies } = headersOf(answer);
  expect(caching).toBe(OWN);
  expect(varies).toContain("authorization");
});

test("an answer that has not changed is asked for again, and the 304 carries what the whole answer carried", async () => {
  await server.run(
    `mutation ($text: String!) {
      createPrompt(input: { slug: "long" }) { prompt { slug } }
      createPromptVersion(slug: "long", input: { version: "1", text: $text }) { warnings { message } }
      publishPrompt(slug: "long", input: { newTag: "production", to: { version: "1" } }) { promptTag { id } }
    }`,
    { text: "x".repeat(20_000) },
  );
  const whole = await server.get("/prompts/long");
  const again = await server.get("/prompts/long", {
    headers: { "if-none-match": String(whole.headers.etag) },
  });
  expect([whole.status, again.status]).toEqual([200, 304]);
  expect(headersOf(again)).toEqual(headersOf(whole));
  expect(headersOf(whole)).toMatchObject({ caching: OWN });
  expect(again.headers.etag).toBe(whole.headers.etag);
});

test.each([
  "/prompts/country-guide",
  "/prompts/country-guide/describe",
  "/prompts",
  "/datasets/country-quiz",
])("HEAD of %s says what GET says, and 304 of what has not changed", async (path) => {
  const [get, head] = [await server.get(path), await server.request("HEAD", path)];
  expect(head.status).toBe(200);
  expect(head.headers.etag).toBe(get.headers.etag);
  const etag = String(get.headers.etag);
  const again = await server.request("HEAD", path, undefined, { headers: { "if-none-match": etag } });
  expect(again.status).toBe(get.headers.etag ? 304 : 200);
});

test.each(["/openapi.json", "/docs/"])("HEAD of %s has the length that GET has", async (path) => {
  const lengthBy = async (method: string) => {
    const headers = { authorization: `Bearer ${server.token}`, "accept-encoding": "identity" };
    return (await fetch(server.url + path, { method, headers })).headers.get("content-length");
  };
  expect(await lengthBy("HEAD")).toBe(await lengthBy("GET"));
});

test("a new access token is stored by no cache, nor is the same answer when it is repeated", async () => {
  const make = (headers: Record<string, string>) =>
    server.graphql(
      'mutation { createAccessToken(input: { name: "cached", scopes: [READ] }) { token } }',
      {},
      { headers },
    );
  for (const accept of ["application/json", "application/graphql-response+json", "text/event-stream"]) {
    const answer = await make({ accept });
    expect(answer.status).toBe(200);
    expect(JSON.stringify(answer.body)).toContain("gab_");
    expect(answer.headers["cache-control"]).toBe("no-store");
  }
  const first = await make({ "idempotency-key": "k" });
  const second = await make({ "idempotency-key": "k" });
  expect(second.body).toEqual(first.body);
  expect(second.headers).toMatchObject({ "idempotent-replayed": "true", "cache-control": "no-store" });
});

test("the signed URL of a file is stored by no cache, nor is the same answer when it is repeated", async () => {
  const file = { fileName: "a.jpg", contentType: "image/jpeg" };
  const call = { headers: { "idempotency-key": "file" } };
  const first = await server.post("/files/generate-upload-url", file, call);
  const second = await server.post("/files/generate-upload-url", file, call);
  expect(second.body).toEqual(first.body);
  expect(second.headers["idempotent-replayed"]).toBe("true");
  const { fileKey, uploadUrl } = await announced(server);
  expect(await put(uploadUrl, Buffer.from("a"))).toMatchObject({ status: 200 });
  const query = encodeURIComponent(`{ file(key: "${fileKey}") { downloadUrl } }`);
  const read = await server.get(`/graphql?query=${query}`);
  expect(read.body.data.file.downloadUrl).toContain("signature=");
  for (const answer of [first, second, read]) expect(headersOf(answer).caching).toBe("no-store");
});

test.each(["GET", "POST"])(
  "answers of GraphQL are stored by no cache, nor are refusals: %s",
  async (method) => {
    const query = "{ prompts { nodes { slug } } }";
    const ask = (token?: null) => {
      const call = token === null ? { token } : {};
      return method === "GET"
        ? server.get(`/graphql?query=${encodeURIComponent(query)}`, call)
        : server.graphql(query, {}, call);
    };
    for (const [answer, status] of [
      [await ask(), 200],
      [await ask(null), 401],
    ] as const) {
      expect(answer.status).toBe(status);
      const { caching, varies } = headersOf(answer);
      expect(caching).toBe("no-store");
      expect(varies).toContain("authorization");
    }
  },
);

test("metrics are stored by no cache, nor is their refusal", async () => {
  for (const [token, status] of [
    [METRICS_TOKEN, 200],
    [server.token, 401],
  ] as const)
    expect(await server.get("/metrics", { token })).toMatchObject({
      status,
      headers: { "cache-control": "no-store" },
    });
});

test.each(["POST", "GET"])("events are stored by no cache: %s", async (method) => {
  const query = "subscription { logAdded { id } }";
  if (method === "POST") {
    await using events = await subscribe(server, query);
    expect(events.response.headers.get("cache-control")).toBe("no-store");
    return;
  }
  const abort = new AbortController();
  const response = await fetch(`${server.url}/graphql?query=${encodeURIComponent(query)}`, {
    headers: { accept: "text/event-stream", authorization: `Bearer ${server.token}` },
    signal: abort.signal,
  });
  expect(response.headers.get("content-type")).toContain("event-stream");
  expect(response.headers.get("cache-control")).toBe("no-store");
  abort.abort();
});

test.each([
  ["/health", "no-store"],
  ["/ready", "no-store"],
  ["/openapi.json", "no-cache"],
  ["/docs/", "no-cache"],
  ["/graphql", "no-cache"],
  ["/graphql/assets/boot.js", "no-cache"],
])("what is for everybody says how long it may be kept: %s", async (path, caching) => {
  const answer = await server.get(path, { token: null, headers: { accept: "text/html" } });
  expect(answer).toMatchObject({ status: 200, headers: { "cache-control": caching } });
});

test("whatever an answer depends on stands in Vary together", async () => {
  await addDataset(server, {
    slug: "large",
    columns: [{ name: "q", type: "text" }],
    rows: Array.from({ length: 200 }, () => ({ values: { q: "x".repeat(200) } })),
  });
  const headers = {
    authorization: `Bearer ${server.token}`,
    origin: "https://app.example.com",
    "accept-encoding": "gzip",
    accept: "text/html",
  };
  const all = ["authorization", "accept-encoding", "origin"];
  for (const [path, more] of [
    ["/datasets/large", []],
    ["/openapi.json", []],
    ["/graphql", ["accept"]],
    ["/graphql/assets/boot.js", []],
    ["/nope", []],
  ] as const) {
    const response = await fetch(`${server.url}${path}`, { headers });
    const { varies } = headersOf({ headers: Object.fromEntries(response.headers) });
    await response.body?.cancel();
    expect(varies.toSorted()).toEqual([...all, ...more].toSorted());
  }
});
