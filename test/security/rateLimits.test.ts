import { expect, test, vi } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { addToken } from "../support/data.ts";
import { type Answer, startServer } from "../support/server.ts";

const QUERY = "{ __typename datasets { nodes { slug } } }";
const limitsOf = ({ status, headers, body }: Answer) => ({
  status,
  code: body.code ?? body.errors?.[0].extensions.code ?? null,
  limit: headers["ratelimit-limit"],
  remaining: headers["ratelimit-remaining"],
});

test("a token may send so many requests a minute, at both APIs together, and then gets 429 with Retry-After", async () => {
  await using server = await startServer({ rateLimits: { perToken: 3, perAddress: null } });
  const other = await addToken(server);
  expect(limitsOf(await server.get("/datasets"))).toMatchObject({ status: 200, limit: "3", remaining: "2" });
  expect(limitsOf(await server.graphql(QUERY))).toMatchObject({ status: 200, limit: "3", remaining: "1" });
  expect(limitsOf(await server.get("/nope"))).toMatchObject({ status: 404, limit: undefined });
  expect(limitsOf(await server.post("/monitor/log", { slug: "x", output: 1 }))).toMatchObject({
    remaining: "0",
  });
  const message = expect.stringMatching(
    /^This token has sent more than 3 requests in a minute\. Try again in \d+ s\.$/,
  );
  const rest = await server.get("/datasets");
  expect(rest).toMatchObject({ status: 429, body: { error: message, code: "TOO_MANY_REQUESTS" } });
  const graphql = await server.graphql(QUERY);
  expect(graphql).toMatchObject({
    status: 429,
    body: { errors: [{ message, extensions: { code: "TOO_MANY_REQUESTS" } }] },
  });
  for (const { headers } of [rest, graphql]) {
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    expect(headers).toMatchObject({ "ratelimit-limit": "3", "ratelimit-remaining": "0" });
    expect(headers["ratelimit-reset"]).toBe(headers["retry-after"]);
  }
  expect((await server.get("/datasets", { token: other.token })).status).toBe(200);
});

test("tokens that nobody knows count for their address and not for themselves", async () => {
  await using server = await startServer({ rateLimits: { perToken: 1, perAddress: 4 } });
  const statuses: number[] = [];
  for (const token of ["a", "b", null, "c", "d"])
    statuses.push((await server.get("/datasets", { token })).status);
  expect(statuses).toEqual([401, 401, 401, 401, 429]);
  expect(await server.get("/datasets")).toMatchObject({
    status: 429,
    body: { error: expect.stringMatching(/^This address /) },
  });
});

test("what watches the service counts for no address", async () => {
  const metricsToken = "a-token-for-watching-only-0123";
  await using server = await startServer({ rateLimits: { perToken: 1, perAddress: 1 }, metricsToken });
  for (let n = 0; n < 2; n++)
    for (const path of ["/health", "/ready", "/metrics"])
      expect(limitsOf(await server.get(path, { token: metricsToken }))).toMatchObject({
        status: 200,
        limit: undefined,
      });
  expect((await server.get("/datasets")).status).toBe(200);
  for (const path of ["/health", "/ready", "/metrics"])
    expect((await server.get(path, { token: metricsToken })).status).toBe(200);
});

test("a limit holds for a minute from the first request on", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    await using server = await startServer({ rateLimits: { perToken: 1, perAddress: null } });
    const ask = async () => (await server.get("/datasets")).status;
    const first = await server.get("/datasets");
    expect(first).toMatchObject({ status: 200, headers: { "ratelimit-reset": "60" } });
    vi.setSystemTime(Date.now() + 59_000);
    expect(await ask()).toBe(429);
    vi.setSystemTime(Date.now() + 1_000);
    expect(await ask()).toBe(200);
  } finally {
    vi.useRealTimers();
  }
});

test("of two limits the answer states the nearer one", async () => {
  await using server = await startServer({ rateLimits: { perToken: 3, perAddress: 10 } });
  expect(limitsOf(await server.get("/datasets"))).toMatchObject({ limit: "3", remaining: "2" });
  for (let n = 0; n < 8; n++) await server.get("/datasets", { token: null });
  expect(limitsOf(await server.get("/datasets"))).toMatchObject({ limit: "10", remaining: "0" });
});

const forwarded = (address: string) => ({ token: null, headers: { "x-forwarded-for": address } });

test("an address in X-Forwarded-For counts only when it comes from a proxy that is trusted", async () => {
  const rateLimits = { perToken: null, perAddress: 1 };
  await using open = await startServer({ rateLimits });
  expect((await open.get("/datasets", forwarded("203.0.113.1"))).status).toBe(401);
  expect((await open.get("/datasets", forwarded("203.0.113.2"))).status).toBe(429);

  await using proxied = await startServer({ rateLimits, trustedProxies: ["loopback"] });
  expect((await proxied.get("/datasets", forwarded("203.0.113.1"))).status).toBe(401);
  expect((await proxied.get("/datasets", forwarded("203.0.113.2"))).status).toBe(401);
  // What the caller wrote itself stands before what the proxy saw.
  expect((await proxied.get("/datasets", forwarded("198.51.100.7, 203.0.113.2"))).status).toBe(429);

  // Of a long row of proxies the last 16 are looked at.
  const behind = (address: string) => forwarded(`${address}${", 127.0.0.1".repeat(20)}`);
  expect((await proxied.get("/datasets", behind("203.0.113.3"))).status).toBe(401);
  expect((await proxied.get("/datasets", behind("203.0.113.4"))).status).toBe(429);

  await using elsewhere = await startServer({ rateLimits, trustedProxies: ["10.0.0.0/8"] });
  expect((await elsewhere.get("/datasets", forwarded("203.0.113.1"))).status).toBe(401);
  expect((await elsewhere.get("/datasets", forwarded("203.0.113.2"))).status).toBe(429);
});

test("without limits nothing is counted, and no header states any", async () => {
  await using server = await startServer();
  const { headers } = await server.get("/datasets");
  expect(Object.keys(headers).filter((name) => name.startsWith("ratelimit"))).toEqual([]);
  expect(server.app.hasDecorator("createRateLimit")).toBe(false);
});

test("limits and proxies come from the environment, and errors in them are reported", () => {
  expect(loadConfig({})).toMatchObject({
    rateLimits: { perToken: null, perAddress: null },
    trustedProxies: [],
    playground: true,
  });
  expect(
    loadConfig({
      ...{ RATE_LIMIT_PER_TOKEN: "600", RATE_LIMIT_PER_ADDRESS: "100" },
      ...{ TRUST_PROXY: "10.0.0.0/8, ::1 loopback", PLAYGROUND: "false" },
    }),
  ).toMatchObject({
    rateLimits: { perToken: 600, perAddress: 100 },
    trustedProxies: ["10.0.0.0/8", "::1", "loopback"],
    playground: false,
  });
  for (const [name, value] of [
    ["RATE_LIMIT_PER_TOKEN", "0"],
    ["RATE_LIMIT_PER_ADDRESS", "many"],
    ["TRUST_PROXY", "true"],
    ["TRUST_PROXY", "10.0.0.0/33"],
    ["PLAYGROUND", "no"],
  ] as const)
    expect(() => loadConfig({ [name]: value })).toThrow(name);
});
