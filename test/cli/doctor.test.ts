import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { adviceFor } from "../../src/analytics/advice.ts";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { runCommand } from "../support/commandLine.ts";
import { addDataset, addToken, addWorkspace } from "../support/data.ts";
import { freePort } from "../support/postgresServer.ts";
import { type Server, startServer } from "../support/server.ts";

const METRICS_TOKEN = "a-token-for-the-metrics-of-the-doctor";
const server = await startServer({ metricsToken: METRICS_TOKEN });
afterAll(() => server[Symbol.asyncDispose]());
const LOG = { slug: "guide", output: "b" };

/** Runs the doctor on a server, with what it rejected so far. */
async function doctor(of: Server, args: string[] = [], env: Record<string, string> = {}) {
  await storeRejected(of.database);
  const { hostname: HOST, port: PORT } = new URL(of.url);
  return runCommand(of.folder, ["doctor", ...args], { DATABASE_URL: of.databaseUrl, HOST, PORT, ...env });
}

test("all is well when calls arrive and nothing is rejected", async () => {
  await using own = await startServer();
  await own.post("/monitor/log", LOG);
  await addDataset(own, { slug: "quiz", columns: [], rows: [{ values: {} }] });
  const { code, stdout, stderr } = await doctor(own);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain(`Service:  ${own.url} is ready.\n`);
  expect(stdout).toMatch(/^Database: .+, 0\.\d MB\.$|^Database: .+, \d+(?:\.\d)? MB\.$/m);
  expect(stdout).toContain("Last hour: 1 trace, 1 log, 1 dataset row.\n");
  expect(stdout).toContain("All is well.\n");
  const report = JSON.parse((await doctor(own, ["--json"])).stdout);
  expect(report).toMatchObject({
    ...{ isWell: true, attention: [], service: { url: own.url, status: "ready", unauthenticated: null } },
    workspaces: [
      { name: "default", arrived: { lastDay: { traces: 1, logs: 1, datasetRows: 1 } }, rejected: [] },
    ],
  });
  expect(report.database.sizeBytes).toBeGreaterThan(10_000);
});

const reader = await addToken(server, { scopes: ["read"] });
await addDataset(server, { slug: "quiz", columns: [] });
const zipped = await promisify(gzip)(JSON.stringify(LOG));

test.each<[string, string, unknown, object, string]>([
  ["a token without the scope write", "/monitor/log", LOG, { token: reader.token }, "has no scope write"],
  ["gzip without its header", "/monitor/log", zipped, {}, "The body is gzip"],
  ["gzip", "/datasets/quiz/items", zipped, { headers: { "content-encoding": "gzip" } }, "The body is gzip"],
  ["OTLP at another path", "/monitor/log", { resourceSpans: [] }, {}, "post it to /v1/traces"],
  ["a path that is not there", "/monitor/logs", LOG, {}, "Correct the path"],
  ["a dataset that is not there", "/datasets/none/items", { values: {} }, {}, "Create the dataset"],
  ["no JSON", "/monitor/trace", "{", {}, "is no JSON"],
  ["a form", "/monitor/log", "a=b", { headers: { "content-type": "text/plain" } }, "Send JSON"],
  ["input that is wrong", "/monitor/trace", { logs: 1 }, {}, "GET /openapi.json"],
])("%s is reported with what to do", async (client, path, body, call, advice) => {
  const headers = { ...(call as { headers?: object }).headers, "user-agent": client };
  const { status, body: answer } = await server.post(path, body, { ...call, headers });
  expect(status).toBeGreaterThanOrEqual(400);
  const { code, stdout } = await doctor(server, ["--json"]);
  expect(code).toBe(1);
  const { attention, workspaces } = JSON.parse(stdout);
  const rejected = workspaces[0].rejected.find((one: { client: string }) => one.client === client);
  expect(rejected).toMatchObject({ reason: answer.error, count: 1, advice: expect.stringContaining(advice) });
  expect(attention).toContainEqual({
    workspace: "default",
    problem: expect.stringContaining(`1 request of ${client} within the last day: ${answer.error}`),
    advice: rejected.advice,
  });
});

test.each([
  ["POST /v1/traces", '{"resourceLogs":[]}', "BAD_INPUT", "Logs were sent to /v1/traces"],
  ["POST /v1/traces", '{"resourceMetrics":[]}', "BAD_INPUT", "Metrics were sent to /v1/traces"],
  ["POST /v1/traces", null, "UNSUPPORTED_MEDIA_TYPE", "for gRPC use port 4317"],
  ["POST /v1/logs", null, "BAD_INPUT", "OTEL_LOGS_EXPORTER=none"],
  ["POST /v1/metrics", null, "BAD_INPUT", "OTEL_METRICS_EXPORTER=none"],
  ["POST /monitor/log", null, "CONFLICT", "Idempotency-Key"],
  ["POST /monitor/log", null, "BODY_TOO_LARGE", "Send less"],
  ["POST /monitor/log", null, "TOO_MANY_REQUESTS", "RATE_LIMIT_PER_TOKEN"],
  ["POST /monitor/log", null, "SOMETHING_NEW", "rejectedItems"],
])("%s with %s, rejected as %s, has advice of its own", (endpoint, sample, code, advice) => {
  expect(adviceFor({ endpoint, sample, code, reason: "No." })).toContain(advice);
});

test("the query checkup gives the problems and the advice of a workspace that the command prints", async () => {
  await using own = await startServer();
  await addToken(own, { scopes: ["read"], expiresAt: new Date(Date.now() - 60_000) });
  await own.post("/monitor/log", zipped, { headers: { "user-agent": "x" } });
  await own.post("/datasets/none/items", { values: {} });
  const { attention } = JSON.parse((await doctor(own, ["--json"])).stdout);
  expect(attention).toHaveLength(3);
  const { findings } = await own.run("{ checkup { findings { problem advice } } }");
  expect(findings.map((finding: object) => ({ workspace: "default", ...finding }))).toEqual(attention);
});

test("equal reasons are one problem with their sum, the most frequent first, escaped for a terminal", async () => {
  await using own = await startServer();
  for (const slug of ["a", "b", "b"])
    await own.post(`/datasets/${slug}\u009b/items`, { values: {} }, { headers: { "user-agent": "x" } });
  const { code, stdout } = await doctor(own);
  expect(code).toBe(1);
  const problems = stdout.split("\n").filter((line) => line.startsWith("- "));
  expect(problems).toEqual([
    expect.stringContaining('rejected 2 requests of x within the last day: Dataset "b\\u009b"'),
    expect.stringContaining('rejected 1 request of x within the last day: Dataset "a\\u009b"'),
  ]);
  expect(stdout).toContain("3 rejected requests.");
});

test("a service that is not running is reported, and the database is looked at all the same", async () => {
  const PORT = String(await freePort());
  const { code, stdout, stderr } = await doctor(server, [], { PORT });
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  expect(stdout).toContain(`Service:  http://127.0.0.1:${PORT} is not running.\n`);
  expect(stdout).toContain("Start it with gabbro serve.");
  expect(stdout).toContain('Workspace "default":\n');
});

test("something else at the port, or a service that is not ready, is reported", async () => {
  const other = createServer((_, response) => response.end("Welcome to nginx"));
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const PORT = String((other.address() as AddressInfo).port);
  const { code, stdout } = await doctor(server, [], { PORT });
  other.close();
  expect(code).toBe(1);
  expect(stdout).toContain(`- http://127.0.0.1:${PORT} is not ready: Welcome to nginx\n`);
});

test("a database or a workspace that is not there is reported", async () => {
  const DATABASE_URL = "sqlite:nowhere.sqlite";
  const none = await doctor(server, [], { DATABASE_URL });
  expect(none).toMatchObject({ code: 1, stderr: "" });
  expect(none.stdout).toContain("There is no database at ");
  const { code, stdout } = await doctor(server, ["--workspace", "nowhere"]);
  expect(code).toBe(1);
  expect(stdout).toContain('- The workspace "nowhere" does not exist.');
});

test("tokens that expired, or that are all without the scope write, are reported in their workspace", async () => {
  await using own = await startServer();
  await own.post("/monitor/log", LOG);
  const team = await addWorkspace(own, "team");
  await own.post("/monitor/log", LOG, { token: team.token });
  await own.database.write
    .updateTable("AccessToken")
    .set({ expiresAt: new Date(Date.now() - 60_000) })
    .where("workspace", "=", team.id)
    .execute();
  expect(await doctor(own, ["--workspace", "default"])).toMatchObject({ code: 0 });
  const { code, stdout } = await doctor(own, ["--json"]);
  expect(code).toBe(1);
  expect(JSON.parse(stdout).attention).toEqual([
    { workspace: "team", problem: "No valid token has the scope write.", advice: expect.any(String) },
    {
      ...{ workspace: "team", advice: expect.stringContaining("token create") },
      problem: expect.stringMatching(/^The token "its own" expired at 2/),
    },
  ]);
});

test("a workspace whose tokens nobody has used is reported with what to check in the client", async () => {
  await using own = await startServer();
  const { code, stdout } = await doctor(own);
  expect(code).toBe(1);
  expect(stdout).toContain("Nothing has arrived yet: no client has used a token.\n");
  expect(stdout).toContain("insecure: true");
});

test("models without a price are reported with their calls of the last day", async () => {
  await using own = await startServer();
  await own.run('mutation { createPrompt(input: { slug: "guide" }) { prompt { slug } } }');
  await own.run(
    'mutation { createPromptVersion(slug: "guide", input: { version: "1", text: "x", model: { provider: "mine", model: "own-1" } }) { promptVersion { version } } }',
  );
  await own.run(
    'mutation { publishPrompt(slug: "guide", input: { newTag: "production", to: { version: "1" } }) { promptTag { label } } }',
  );
  await own.post("/monitor/log", { ...LOG, inputTokens: 5, outputTokens: 5 });
  const { stdout } = await doctor(own);
  expect(stdout).toContain("1 call of the model own-1 within the last day has no price.\n");
  await own.post("/monitor/log", { ...LOG, inputTokens: 5, outputTokens: 5 });
  const again = await doctor(own);
  expect(again.stdout).toContain("2 calls of the model own-1 within the last day have no price.\n");
});

test("requests without a valid token are counted where the metrics can be read, and need no attention", async () => {
  await using own = await startServer({ metricsToken: METRICS_TOKEN });
  await own.post("/monitor/log", LOG);
  expect((await own.post("/monitor/log", LOG, { token: "unknown" })).status).toBe(401);
  const { code, stdout } = await doctor(own, [], { METRICS_TOKEN });
  expect(code).toBe(0);
  expect(stdout).toContain(
    " is ready.\n  1 request since its start had no valid token.\n  Some client has no token, ",
  );
  expect(stdout).toContain("All is well.\n");
  const other = await doctor(own, ["--json"], { METRICS_TOKEN: "x".repeat(30) });
  expect(JSON.parse(other.stdout).service).toMatchObject({ status: "ready", unauthenticated: null });
});

test("metrics that cannot be read are reported, and all else is examined", async () => {
  const ready = JSON.stringify({ status: "ok" });
  const broken = createServer(({ url, socket }, response) =>
    url === "/ready" ? response.end(ready) : socket.destroy(),
  );
  await new Promise<void>((resolve) => broken.listen(0, "127.0.0.1", resolve));
  const PORT = String((broken.address() as AddressInfo).port);
  const { code, stdout, stderr } = await doctor(server, [], { METRICS_TOKEN, PORT });
  broken.close();
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
  expect(stdout).toContain(`- http://127.0.0.1:${PORT}/metrics cannot be read: `);
  expect(stdout).toContain('Workspace "default":\n');
});
