import { afterAll, expect, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { loadConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { createWorkspace } from "../../src/workspaces/resolvers.ts";
import { addPrompt } from "../support/data.ts";
import { lockWrites } from "../support/locks.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";

const metricsToken = "a-token-for-watching-only-0123";
const server = await startServer({ metricsToken });
afterAll(() => server[Symbol.asyncDispose]());
await addPrompt(server, { slug: "p", versions: [{ version: "1" }], tags: { production: "1" } });

const SAMPLE =
  /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\["\\n])*"(?:,(?!\}))?)*)\})? (-?[\d.e+-]+)$/;

/** The metrics, by name and labels; every line must be as Prometheus reads it. */
async function scrape(): Promise<Record<string, number>> {
  const answer = await server.get("/metrics", { token: metricsToken });
  expect(answer).toMatchObject({
    status: 200,
    headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
  });
  const types = new Map<string, string>();
  const samples: Record<string, number> = {};
  for (const line of answer.body.trimEnd().split("\n")) {
    const [, kind, about, said] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === "TYPE") expect(["counter", "gauge", "histogram"]).toContain(said);
    if (kind === "TYPE") types.set(about!, said!);
    if (kind) continue;
    const [, name, labels = "", value] = SAMPLE.exec(line) ?? expect.fail(`no line for Prometheus: ${line}`);
    const family = types.get(name!) ?? types.get(name!.replace(/_(?:bucket|sum|count)$/, ""));
    expect(family, line).toBeDefined();
    expect(samples).not.toHaveProperty([`${name}{${labels}}`]);
    samples[`${name}{${labels}}`] = Number(value);
  }
  return samples;
}

/** By how much each has grown since. */
async function grownBy(work: () => Promise<unknown>) {
  const before = await scrape();
  await work();
  const after = await scrape();
  return (name: string) => (after[name] ?? Number.NaN) - (before[name] ?? 0);
}

const requests = (api: string, operation: string, status: number, code = "") =>
  `gabbro_requests_total{api="${api}",operation="${operation}",status="${status}",code="${code}"}`;

test("requests are counted by route or field, status and code of the error, with a histogram of their times", async () => {
  const grown = await grownBy(async () => {
    for (let n = 0; n < 3; n++) await server.get("/prompts/p/describe");
    await server.get("/prompts/nope/describe");
    await server.graphql('{ describePrompt(slug: "p") { slug } }');
    await server.graphql('{ x: describePrompt(slug: "nope") { slug } }');
    await server.graphql('{ a: describePrompt(slug: "p") { slug } prompts { nodes { slug } } }');
    await server.graphql(
      'mutation { logPrompt(input: { slug: "p", output: 1 }) { warning } }',
      {},
      { token: null },
    );
  });
  const describe = "GET /prompts/:slug/describe";
  expect(grown(requests("rest", describe, 200))).toBe(3);
  expect(grown(requests("rest", describe, 404, "PROMPT_NOT_FOUND"))).toBe(1);
  expect(grown(requests("graphql", "describePrompt", 200))).toBe(1);
  expect(grown(requests("graphql", "describePrompt", 200, "PROMPT_NOT_FOUND"))).toBe(1);
  expect(grown(requests("graphql", "(several)", 200))).toBe(1);
  expect(grown(requests("graphql", "(none)", 401, "UNAUTHENTICATED"))).toBe(1);
  const times = (part: string, more = "") =>
    `gabbro_request_duration_seconds_${part}{api="rest",operation="${describe}"${more}}`;
  expect(grown(times("count"))).toBe(4);
  expect(grown(times("bucket", ',le="+Inf"'))).toBe(4);
  expect(grown(times("sum"))).toBeGreaterThan(0);
});

test("what callers write makes no new names: there are as many as routes and fields", async () => {
  const canary = "canary77";
  const send = async () => {
    await server.get(`/${canary}${Math.random()}?${canary}`);
    await server.get(`/datasets/${canary}${Math.random()}`, { headers: { "x-request-id": canary } });
    await server.graphql(`query ${canary} { ${canary}: prompt(slug: "${canary}${Math.random()}") { slug } }`);
    await server.graphql(`{ ${canary}${Math.random()} }`);
    await server.request("PROPFIND", `/${canary}`);
    await server.get("/datasets", { token: canary });
  };
  await send();
  await scrape(); // to be scraped is a route, too
  const before = Object.keys(await scrape());
  for (let n = 0; n < 5; n++) await send();
  const after = Object.keys(await scrape());
  expect(after.toSorted()).toEqual(before.toSorted());
  expect(after.join()).not.toContain(canary);
});

test("metrics show the sizes of batches of writes, hits and misses of caches, and connections where there are any", async () => {
  await server.get("/prompts/p/describe");
  const grown = await grownBy(async () => {
    await Promise.all(
      Array.from({ length: 40 }, () => server.post("/monitor/log", { slug: "p", output: 1 })),
    );
    await server.get("/prompts/p/describe");
  });
  const batches = grown("gabbro_write_batch_size_count{}");
  expect(grown("gabbro_write_batch_size_sum{}")).toBe(40);
  expect(batches).toBeGreaterThan(0);
  expect(batches).toBeLessThan(40);
  expect(grown("gabbro_cache_hits_total{}")).toBeGreaterThan(0);
  const metrics = await scrape();
  expect(metrics["gabbro_writes_waiting{}"]).toBe(0);
  const connections = metrics['gabbro_database_connections{server="primary",state="idle"}'];
  if (isOnPostgresql) expect(connections).toBeGreaterThan(0);
  else expect(connections).toBeUndefined();
});

test.each([
  [1, 1],
  [2, 2],
  [3, 5],
  [5, 5],
])("a batch of %i requests is counted from the bound of %i on", async (size, bound) => {
  const grown = await grownBy(() =>
    Promise.all(
      Array.from({ length: size }, (_, n) => createWorkspace(server.database, `batch ${size} ${n}`)),
    ),
  );
  for (const le of [1, 2, 5, 10, 20, 50, 100, 200])
    expect([le, grown(`gabbro_write_batch_size_bucket{le="${le}"}`)]).toEqual([le, le >= bound ? 1 : 0]);
  expect(grown('gabbro_write_batch_size_bucket{le="+Inf"}')).toBe(1);
});

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

test("a request is counted from the bound on that it does not exceed, in seconds", async () => {
  await using app = await createApp(
    await openDatabase(server.databaseUrl, entities),
    { metricsToken },
    false,
  );
  app.get<{ Params: { ms: string } }>("/took/:ms", async ({ params }, reply) => {
    Object.defineProperty(reply, "elapsedTime", { value: Number(params.ms) });
    return {};
  });
  const buckets = async () => {
    const headers = { authorization: `Bearer ${metricsToken}` };
    const { body } = await app.inject({ url: "/metrics", headers });
    return [...body.matchAll(/_bucket\{api="rest",operation="GET \/took\/:ms",le="(.+)"\} (\d+)/g)];
  };
  const times = [0.5, 1, 1.5, 100, 101, 10_000, 10_001];
  for (const ms of times) expect((await app.inject(`/took/${ms}`)).statusCode).toBe(200);
  const upTo = (bound: number) => times.filter((ms) => ms <= bound * 1_000).length;
  expect((await buckets()).map(([, bound, count]) => [bound, Number(count)])).toEqual([
    ...SECONDS.map((bound) => [`${bound}`, upTo(bound)]),
    ["+Inf", times.length],
  ]);
});

test("a write that waits is seen while it waits", async () => {
  const release = await lockWrites(server);
  const written = server.post("/monitor/log", { slug: "p", output: 1 });
  const isWaiting = async () => expect((await scrape())["gabbro_writes_waiting{}"]).toBe(1);
  await vi.waitFor(isWaiting, { timeout: 10_000 });
  await release();
  expect((await written).status).toBe(200);
});

test("metrics of the process have the usual names", async () => {
  const metrics = await scrape();
  for (const name of [
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "nodejs_heap_size_used_bytes",
    "nodejs_eventloop_lag_p99_seconds",
    "nodejs_eventloop_utilization",
  ])
    expect(metrics[`${name}{}`], name).toBeGreaterThanOrEqual(0);
  expect(metrics["process_start_time_seconds{}"]).toBeGreaterThan(1_700_000_000);
});

test("metrics are there only with METRICS_TOKEN, and only for who has it", async () => {
  expect(loadConfig({}).metricsToken).toBeNull();
  expect(loadConfig({ METRICS_TOKEN: metricsToken }).metricsToken).toBe(metricsToken);
  expect(() => loadConfig({ METRICS_TOKEN: "short" })).toThrow("METRICS_TOKEN");
  for (const token of [null, "wrong", server.token])
    expect(await server.get("/metrics", { token })).toMatchObject({
      status: 401,
      headers: { "www-authenticate": "Bearer" },
      body: { code: "UNAUTHENTICATED" },
    });
  await using closed = await startServer();
  expect((await closed.get("/metrics", { token: metricsToken })).status).toBe(404);
});
