import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { loadConfig } from "../../src/config.ts";
import { MAX_AGE_MS, MAX_IDLE_MS } from "../../src/console/sessions.resolvers.ts";
import { errorStatus } from "../../src/errors.ts";
import { CLIENT_LIMITS } from "../../src/http/server.ts";
import { schema } from "../../src/schema.ts";
import { gabbro } from "../support/program.ts";
import { startServer } from "../support/server.ts";
import { allDocuments } from "../support/snippets.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const documents = await allDocuments();
const textOf: Record<string, string> = Object.fromEntries(documents);

test("docs/architecture.md names every folder of src, and no other", async () => {
  const entries = await readdir(join(root, "src"), { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const named = [...textOf["docs/architecture.md"]!.matchAll(/`src\/(\w+)\/`/g)].map(([, name]) => name!);
  expect([...new Set(named)].toSorted()).toEqual(folders.toSorted());
});

test("every file, npm script and command that a page names is there", async () => {
  const { stdout: help } = await gabbro(root, ["--help"]);
  const missing = documents.flatMap(([page, text]) => {
    const named = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name!);
    const files = named(/`((?:src|test|faults|bench|docs|bin)\/[\w./-]+)`/g);
    const scripts = named(/\bnpm run (?:--silent )?([\w:]+)/g);
    const commands = named(/(?<!\/)\bgabbro ([a-z]+)\b/g);
    return [
      ...files.filter((name) => !existsSync(join(root, name))),
      ...scripts.filter((name) => !Object.hasOwn(packageJson.scripts, name)),
      ...commands.filter((name) => !new RegExp(`^  ${name}\\b`, "m").test(help)),
    ].map((name) => `${page}: ${name}`);
  });
  expect(missing).toEqual([]);
});

test("docs/limits.md and docs/reliability.md name tests that exist", async () => {
  const named = [
    ...textOf["docs/limits.md"]!.matchAll(/\| ((?:`\w+\/\w+`(?:, )?)+) \|$/gm),
    ...textOf["docs/reliability.md"]!.matchAll(/`test\/(\w+\/\w+)\.test\.ts`/g),
  ].flatMap(([, names]) => names!.replaceAll("`", "").split(", "));
  expect(named.length).toBeGreaterThan(80);
  expect(named.filter((name) => !existsSync(join(root, "test", `${name}.test.ts`)))).toEqual([]);
});

test("every limit of docs/limits.md has a test", () => {
  const rows = textOf["docs/limits.md"]!.split("\n").filter((line) => /^\| (?!What \|)/.test(line));
  expect(rows.length).toBeGreaterThan(120);
  expect(rows.filter((row) => !/\| `\w+\/\w+`(?:, `\w+\/\w+`)* \|$/.test(row))).toEqual([]);
});

describe("docs/api.md", () => {
  const page = textOf["docs/api.md"]!;

  test("lists every route of REST, and no other", async () => {
    await using server = await startServer();
    const { paths } = (await server.get("/openapi.json")).body;
    const served = Object.entries<object>(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    const listed = [...page.matchAll(/^\| `([A-Z]+ \/[^`]*)` \|/gm)].map(([, route]) => route!);
    expect(listed.toSorted()).toEqual(served.toSorted());
  });

  test("lists every query, mutation and subscription of GraphQL, and no other", () => {
    const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
    const served = roots.flatMap((type) => Object.keys(type!.getFields()));
    const [, table] = /^\| Page \| Queries .*\n\|-.*\n((?:\|.*\n)+)/m.exec(page)!;
    const listed = [...table!.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    expect(listed.toSorted()).toEqual(served.toSorted());
  });

  test("lists every error code beside its status, and no other", () => {
    const rows = page.matchAll(/^\| (\d{3}) \| (.+) \|$/gm);
    const listed = [...rows].flatMap(([, status, codes]) =>
      [...codes!.matchAll(/`([A-Z]+_?[A-Z_]+)`/g)].map(([, code]) => [code!, Number(status)]),
    );
    expect(Object.fromEntries(listed)).toEqual(errorStatus);
  });
});

test("docs/operations.md lists every metric of Gabbro, and no other", async () => {
  const files = await readdir(join(root, "src/metrics"));
  const sources = await Promise.all(files.map((name) => readFile(join(root, "src/metrics", name), "utf8")));
  const namesIn = (text: string) => [...new Set(text.match(/\bgabbro_[a-z_]+\b/g))].toSorted();
  expect(namesIn(textOf["docs/operations.md"]!)).toEqual(namesIn(sources.join("\n")));
});

describe("docs/configuration.md", () => {
  const page = textOf["docs/configuration.md"]!;
  const rows = [...page.matchAll(/^\| `([A-Z_]+)` \| (?:`([^`]+)`)? ?\| (.+) \|$/gm)].map(
    ([, name, byDefault, meaning]) => ({ name: name!, byDefault, meaning: meaning! }),
  );

  test("lists every environment variable that src/config.ts reads, and no other", async () => {
    const source = await readFile(join(root, "src/config.ts"), "utf8");
    const read = [...source.matchAll(/^ {4}([A-Z_]+): /gm)].map(([, name]) => name!);
    expect(read.length).toBeGreaterThan(10);
    expect(rows.map(({ name }) => name).toSorted()).toEqual([...new Set(read)].toSorted());
  });

  const withDefault = rows.filter(({ byDefault }) => byDefault !== undefined);
  test.each(withDefault)("says what $name is when it is absent: $byDefault", ({ name, byDefault }) => {
    expect(loadConfig({ [name]: byDefault })).toEqual(loadConfig({}));
  });

  test("names a default for each setting that has one", () => {
    const values = Object.values(loadConfig({})).flatMap((value) =>
      typeof value === "object" && value !== null ? Object.values(value) : [value],
    );
    expect(values.filter((value) => value !== null && value !== false)).toHaveLength(withDefault.length);
  });
});

test("docs/operations.md says how long the service waits for slow clients", async () => {
  const page = textOf["docs/operations.md"]!.replaceAll(/\s+/g, " ");
  const { headersMs, requestMs, answerMs, minBytesPerMs } = CLIENT_LIMITS;
  expect(page).toContain(
    `${headersMs / 1_000} s for the headers of a request, ${requestMs / 1_000} s for all of it, and ${answerMs / 1_000} s, plus one for each ${minBytesPerMs} kB`,
  );
});

test.each(["GABBRO_TOKEN", "METRICS_TOKEN"])("docs/configuration.md says how long %s must be", (name) => {
  const page = textOf["docs/configuration.md"]!;
  const [, row] = new RegExp(`^\\| \`${name}\` (.*)$`, "m").exec(page)!;
  const shortest = Number(/at least (\d+) characters/.exec(row!)![1]);
  expect(() => loadConfig({ [name]: "x".repeat(shortest) })).not.toThrow();
  expect(() => loadConfig({ [name]: "x".repeat(shortest - 1) })).toThrow(`${shortest} characters`);
});

const [SECOND, MB] = [1_000, 1024 * 1024];
/** A number in a page, and the constant of the source that it states in this unit. */
const numbers: [page: string, sentence: RegExp, unit: number, file: string, constant: string][] = [
  [
    "docs/api.md",
    /for (\d+) hours, the same key/,
    3_600 * SECOND,
    "workspaces/idempotency.resolvers.ts",
    "RETENTION_MS",
  ],
  ["docs/api.md", /a body of (\d+) MB/, MB, "app.ts", "MAX_BODY_BYTES"],
  ["docs/api.md", /BODY_TOO_LARGE`: more than (\d+) MB/, MB, "app.ts", "MAX_BODY_BYTES"],
  ["docs/api.md", /(\d+) s of work for a request/, SECOND, "app.ts", "TIME_LIMIT_MS"],
  ["docs/api.md", /longer than it may, (\d+) s for/, SECOND, "app.ts", "TIME_LIMIT_MS"],
  ["docs/api.md", /([\d,]+) fields and/, 1, "limits/answerBudget.ts", "MAX_ANSWER_FIELDS"],
  [
    "docs/api.md",
    /fields and (\d+) MB in a GraphQL response/,
    MB,
    "limits/answerBudget.ts",
    "MAX_ANSWER_BYTES",
  ],
  ["docs/api.md", /(\d+) levels of fields/, 1, "graphql/limits.ts", "MAX_DEPTH"],
  ["docs/datasets.md", /`uploadUrl` within (\d+) minutes/, 60 * SECOND, "files/signatures.ts", "LIFETIME_MS"],
  ["docs/datasets.md", /expires after (\d+) minutes/, 60 * SECOND, "files/signatures.ts", "LIFETIME_MS"],
  ["docs/operations.md", /up to (\d+) s to finish, and exits/, SECOND, "http/shutdown.ts", "GRACE_MS"],
  [
    "docs/operations.md",
    /for up to ([\d,]+) tokens and as many addresses/,
    1,
    "http/rateLimits.ts",
    "MAX_COUNTERS",
  ],
  ["docs/operations.md", /requests after (\d+) ms with 503/, 1, "http/refusals.ts", "REFUSAL_DELAY_MS"],
  ["docs/operations.md", /requests beyond (\d+) in flight/, 1, "http/limiter.ts", "maxInFlight"],
  ["docs/operations.md", /at most (\d+) of them every/, 1, "http/refusals.ts", "MAX_REFUSALS_AT_ONCE"],
  ["docs/operations.md", /of them every (\d+) ms/, 1, "http/refusals.ts", "BETWEEN_REFUSALS_MS"],
  ["docs/operations.md", /allow up to ([\d,]+) connections/, 1, "http/server.ts", "maxConnections"],
  [
    "docs/operations.md",
    /are (\d+) s for a statement/,
    SECOND,
    "database/postgresql/dialect.ts",
    "STATEMENT_TIMEOUT_MS",
  ],
  [
    "docs/operations.md",
    /(\d+) s for an idle connection/,
    SECOND,
    "database/postgresql/dialect.ts",
    "IDLE_CONNECTION_MS",
  ],
  ["docs/limits.md", /\| body \| (\d+) MB/, MB, "app.ts", "MAX_BODY_BYTES"],
  ["docs/limits.md", /\| a file; [^|]*\| (\d+) MB/, MB, "files/inputs.ts", "MAX_FILE_BYTES"],
  ["docs/limits.md", /\| a signed URL \| (\d+) minutes/, 60 * SECOND, "files/signatures.ts", "LIFETIME_MS"],
  ["docs/limits.md", /(\d+) s for the headers, /, SECOND, "http/server.ts", "headersMs"],
  ["docs/limits.md", /s for the headers, (\d+) s for all/, SECOND, "http/server.ts", "requestMs"],
  ["docs/limits.md", /\| connections \| ([\d,]+) \|/, 1, "http/server.ts", "maxConnections"],
  ["docs/limits.md", /\| requests in flight \| (\d+); half/, 1, "http/limiter.ts", "maxInFlight"],
  ["docs/limits.md", /503 `UNAVAILABLE` after (\d+) ms/, 1, "http/refusals.ts", "REFUSAL_DELAY_MS"],
  ["docs/limits.md", /refusals, which wait for (\d+) ms/, 1, "http/refusals.ts", "REFUSAL_DELAY_MS"],
  ["docs/limits.md", /\| work for one request \| (\d+) s/, SECOND, "app.ts", "TIME_LIMIT_MS"],
  ["docs/limits.md", /\| spans of a request; [^|]*\| ([\d,]+);/, 1, "logs/otlp/bounds.ts", "MAX_SPANS"],
  ["docs/limits.md", /\| tokens \| ([\d,]+) \|/, 1, "graphql/documents.ts", "MAX_TOKENS"],
  ["docs/limits.md", /\| depth of fields; [^|]*\| (\d+);/, 1, "graphql/limits.ts", "MAX_DEPTH"],
  ["docs/limits.md", /a GraphQL response \| ([\d,]+);/, 1, "limits/answerBudget.ts", "MAX_ANSWER_FIELDS"],
  ["docs/limits.md", /as text, [^|]*\| (\d+) MB/, MB, "limits/answerBudget.ts", "MAX_ANSWER_BYTES"],
  ["docs/limits.md", /\| fields executed [^|]*\| ([\d,]+) \|/, 1, "database/pace.ts", "MAX_FIELDS_AT_ONCE"],
  ["docs/limits.md", /\| a search \| (\d+) s/, SECOND, "database/search.ts", "SEARCH_LIMIT_MS"],
  ["docs/limits.md", /\| days of `usage` by day \| ([\d,]+) \|/, 1, "analytics/inputs.ts", "MAX_DAYS"],
  ["docs/reliability.md", /work takes longer than (\d+) s/, SECOND, "app.ts", "TIME_LIMIT_MS"],
  ["docs/reliability.md", /more than ([\d,]+) fields/, 1, "limits/answerBudget.ts", "MAX_ANSWER_FIELDS"],
  ["docs/reliability.md", /with refusals after (\d+) ms/, 1, "http/refusals.ts", "REFUSAL_DELAY_MS"],
  ["docs/reliability.md", /Writes wait up to (\d+) s and then/, SECOND, "database/retry.ts", "MAX_WAIT_MS"],
  ["SECURITY.md", /expires after (\d+) minutes/, 60 * SECOND, "files/signatures.ts", "LIFETIME_MS"],
  ["SECURITY.md", /its share of the (\d+) requests in flight/, 1, "http/limiter.ts", "maxInFlight"],
];
test.each(numbers)("%s states the number of the source: %s", async (page, sentence, unit, file, constant) => {
  const stated = sentence.exec(textOf[page]!.replaceAll(/\s+/g, " "));
  expect(Number(stated![1]!.replaceAll(",", "")) * unit).toBe(await constantOf(file, constant));
});

async function constantOf(file: string, constant: string): Promise<number> {
  const source = await readFile(join(root, "src", file), "utf8");
  const value = new RegExp(`\\b${constant}(?: =|:) ([\\d_ *]+)[;,]`).exec(source);
  const factors = value![1]!.split("*").map((factor) => Number(factor.replaceAll("_", "")));
  return factors.reduce((product, factor) => product * factor);
}

test.each([
  ["docs/limits.md", /PostgreSQL sends no notifications \| (\d+) s;/],
  ["docs/reliability.md", /within (\d+) seconds where their connection to the database broke silently/],
  ["docs/operations.md", /within (\d+) seconds where the connection broke silently/],
  ["SECURITY.md", /within (\d+) seconds where its connection to the database broke silently/],
])("%s says for how long a process may miss the changes of others", async (page, sentence) => {
  const beat = await constantOf("database/changeFeed.ts", "HEARTBEAT_MS");
  const answer = await constantOf("database/postgresql/dialect.ts", "HEARTBEAT_TIMEOUT_MS");
  const stated = sentence.exec(textOf[page]!.replaceAll(/\s+/g, " "))!;
  expect(Number(stated[1]) * SECOND).toBe(beat + answer);
});

test("docs/limits.md says how many refusals a second are sent", async () => {
  const [, stated] = /refusals, which wait for \d+ ms \| ([\d,]+) a second/.exec(textOf["docs/limits.md"]!)!;
  const atOnce = await constantOf("http/refusals.ts", "MAX_REFUSALS_AT_ONCE");
  const betweenMs = await constantOf("http/refusals.ts", "BETWEEN_REFUSALS_MS");
  expect(Number(stated!.replaceAll(",", ""))).toBe((atOnce * SECOND) / betweenMs);
});

test("docs/reliability.md says when clients that send slowly are disconnected", () => {
  const { headersMs, requestMs, checkMs } = CLIENT_LIMITS;
  const [headers, all] = [headersMs, requestMs].map((ms) => (ms + checkMs) / SECOND);
  expect(textOf["docs/reliability.md"]).toContain(
    `more than ${headers} s to send the headers of a request, or more than ${all} s to send all of it`,
  );
});

test("SECURITY.md and docs/limits.md say how long a session of the console lasts", () => {
  const [idle, days] = [MAX_IDLE_MS / (3_600 * SECOND), MAX_AGE_MS / (24 * 3_600 * SECOND)];
  const security = textOf["SECURITY.md"]!.replaceAll(/\s+/g, " ");
  expect(security).toContain(`after ${idle} hours without use, or after ${days} days`);
  expect(textOf["docs/limits.md"]).toContain(`${idle} h without use, ${days} days at most`);
});

test("docs/operations.md and docs/configuration.md state the window of the rate limits", async () => {
  const source = await readFile(join(root, "src/http/rateLimits.ts"), "utf8");
  expect(source).toMatch(/^const WINDOW_MS = 60_000;$/m);
  expect(textOf["docs/operations.md"]).toContain("limit the requests per minute");
  expect(textOf["docs/configuration.md"]).toContain("the number of requests per minute");
});
