import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { lstat, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import grpc from "@grpc/grpc-js";
import { afterAll, expect, test } from "vitest";
import { loadConfig } from "../../src/config.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { runCommand } from "../support/commandLine.ts";
import { freePort } from "../support/postgresServer.ts";
import { gabbro, program } from "../support/program.ts";

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  folders.push(folder);
  return folder;
}

/** Starts the service in a folder on a free port and waits for its words. */
async function serve(folder: string, args: string[] = [], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [program, "serve", ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOST: "127.0.0.1",
      PORT: "0",
      OTLP_GRPC_PORT: "0",
      DRAIN_SECONDS: "0",
      ...env,
    },
  });
  let stdout = "";
  let stderr = "";
  const ended = once(child, "exit").then(([code, signal]) => ({ code, signal }));
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      stdout += chunk;
      if (stdout.includes("Gabbro is ready")) setImmediate(resolve);
    });
    void ended.then(() => reject(new Error(`it ended early: ${stderr}`)));
  });
  return {
    child,
    ended,
    output: () => stdout + stderr,
    words: () => stdout.slice(stdout.indexOf("\nGabbro is ready")),
    logs: () => stdout.split("\n").flatMap((line) => (line.startsWith("{") ? [JSON.parse(line)] : [])),
    url: /http:\/\/127\.0\.0\.1:\d+/.exec(stdout)![0],
    token: stdout.includes("on a new database") ? firstTokenIn(folder) : undefined,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Where the output is no terminal, the first token is in a file. */
function firstTokenIn(folder: string): string | undefined {
  const file = join(folder, "data", "first-token");
  return statSync(file, { throwIfNoEntry: false })?.isFile() ? readFileSync(file, "utf8").trim() : undefined;
}

/** What the service says to who asks for a dataset of the sample: 401 when the token counts nothing, 404 without the sample. */
const statusWith = async (url: string, token: string) =>
  (await fetch(`${url}/datasets/country-quiz`, { headers: { authorization: `Bearer ${token}` } })).status;

/** Does what a printed line would do in a shell, so that the test needs neither a shell nor curl. */
async function runCurl(line: string, token: string): Promise<unknown> {
  const words = [
    ...line.replace("$(cat data/first-token)", token).matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
  ].map(([, double, single, bare]) => double ?? single ?? bare!);
  const after = (flag: string) => words.flatMap((word, at) => (word === flag ? [words[at + 1]!] : []));
  expect(words.slice(0, 2)).toEqual(["curl", "-s"]);
  const [body] = after("-d");
  const headers = after("-H").map((header) => header.split(": ") as [string, string]);
  const answer = await fetch(words.at(-1)!, {
    method: body ? "POST" : "GET",
    headers,
    ...(body && { body }),
  });
  return answer.json();
}

test("the first start makes a database with a sample and a token, and the four printed lines work as they are", async () => {
  const folder = await newFolder();
  await using service = await serve(folder);
  expect(existsSync(join(folder, "data", "gabbro.sqlite"))).toBe(true);
  expect(service.words()).toContain(`${service.url}/graphql`);
  const lines = service
    .words()
    .split("\n")
    .filter((line) => line.startsWith("curl "));
  expect(lines).toHaveLength(4);
  const answers = await Promise.all(lines.map((line) => runCurl(line, service.token!)));
  expect(answers).toMatchObject([
    { dataset: { slug: "country-quiz" } },
    { datasetRow: { idealOutput: "Kenya" } },
    { prompt: { slug: "country-guide", version: "2.0.0" } },
    { trace: {}, log: {}, warning: null },
  ]);
});

test("a second start keeps everything, shows no token and says how to make another", async () => {
  const folder = await newFolder();
  const first = await serve(folder);
  const token = first.token!;
  first.child.kill("SIGTERM");
  expect(await first.ended).toEqual({ code: 0, signal: null });
  await using second = await serve(folder);
  expect(second.words()).not.toMatch(/gab_|first-token/);
  expect(second.words()).toContain("npx gabbro token create");
  expect(await statusWith(second.url, token)).toBe(200);
});

const TELL_MODULES = `
  import { registerHooks } from "node:module";
  registerHooks({ load(url, context, next) { console.log(JSON.stringify({ loaded: url })); return next(url, context); } });`;

test("a start loads the tokenizer once it listens, and nothing else that only some requests need; those load it", async () => {
  const folder = await newFolder();
  const preload = `data:text/javascript,${encodeURIComponent(TELL_MODULES)}`;
  await using service = await serve(folder, [], { NODE_OPTIONS: `--import=${preload}` });
  const lazy =
    /node_modules\/(?:@fastify\/swagger|@fastify\/swagger-ui|yaml|luxon|diff|cli-progress|stream-json|@pydantic\/genai-prices)\//;
  const loaded = () => service.logs().flatMap(({ loaded }) => (loaded && lazy.exec(loaded)) ?? []);
  const tables = () => service.logs().filter(({ loaded }) => /gpt-tokenizer\/.*\/encoding\//.test(loaded));
  expect(service.logs().filter((line) => line.loaded).length).toBeGreaterThan(500);
  expect(loaded()).toEqual([]);
  await expect.poll(tables, { timeout: 20_000 }).toEqual([{ loaded: expect.stringContaining("o200k_base") }]);
  const answer = await fetch(`${service.url}/monitor/log`, {
    method: "POST",
    headers: { authorization: `Bearer ${service.token}`, "content-type": "application/json" },
    body: JSON.stringify({ slug: "country-guide", input: "Which capital?", output: "Nairobi" }),
  });
  expect(answer.status).toBe(200);
  expect(tables()).toHaveLength(1); // a second thread would load it again
  expect((await fetch(`${service.url}/openapi.json`)).status).toBe(200);
  expect(loaded()).toContain("node_modules/@fastify/swagger/");
});

test("--empty leaves the sample out, and `gabbro sample` adds it once", async () => {
  const folder = await newFolder();
  await using service = await serve(folder, ["--empty"]);
  expect(service.words()).not.toContain("curl");
  expect(await statusWith(service.url, service.token!)).toBe(404);
  expect(await runCommand(folder, ["sample"])).toMatchObject({ code: 0 });
  expect(await statusWith(service.url, service.token!)).toBe(200);
  const again = await runCommand(folder, ["sample"]);
  expect(again).toMatchObject({ code: 1, stdout: "" });
  expect(again.stderr).toContain("has the sample already");
});

// What a program sees that runs on a terminal.
const ON_A_TERMINAL = `--import=data:text/javascript,${encodeURIComponent("process.stdout.isTTY = true")}`;

test("on a terminal the first start shows the first token and a link that signs in once; later starts show neither", async () => {
  const folder = await newFolder();
  const env = { NODE_OPTIONS: ON_A_TERMINAL };
  const follow = async (url: string, code: string) => {
    const headers = { "content-type": "application/json", "sec-fetch-site": "same-origin" };
    const body = JSON.stringify({ code });
    return (await fetch(`${url}/console/session`, { method: "POST", headers, body })).status;
  };
  {
    await using service = await serve(folder, ["--empty"], env);
    const [token] = /gab_\w{49}/.exec(service.words()) ?? [];
    expect(service.words()).toContain(`Access token   ${token}   (shown only now; keep it)`);
    expect(await statusWith(service.url, token!)).toBe(404);
    const [, code] = /\/console\/start#([\w-]{43}) /.exec(service.words()) ?? [];
    expect(await follow(service.url, code!)).toBe(204);
    expect(await follow(service.url, code!)).toBe(401);
  }
  expect(readdirSync(join(folder, "data"))).not.toContain("first-token"); // a shown token is written nowhere
  await using again = await serve(folder, [], env);
  expect(again.words()).toContain(`Console        ${again.url}/console\n`);
  expect(again.words()).not.toContain("gab_");
});

test("without a terminal the first token is in no log, but in a file that only its owner can read and that the log names", async () => {
  const folder = await newFolder();
  await writeFile(join(folder, "other"), "untouched");
  await mkdir(join(folder, "data"));
  await symlink(join(folder, "other"), join(folder, "data", "first-token"));
  await using service = await serve(folder);
  expect(service.words()).toContain("Access token   in the file data/first-token ");
  expect(service.output()).not.toMatch(/gab_|start#/);
  await expect
    .poll(service.logs)
    .toContainEqual(expect.objectContaining({ file: expect.stringMatching(/^\/.*\/data\/first-token$/) }));
  const file = await lstat(join(folder, "data", "first-token"));
  expect({ isFile: file.isFile(), mode: file.mode & 0o777 }).toEqual({ isFile: true, mode: 0o600 });
  expect(await statusWith(service.url, service.token!)).toBe(200);
  expect(readFileSync(join(folder, "other"), "utf8")).toBe("untouched");
});

test("a first token that cannot be written is lost, and the service says how to make another", async () => {
  const folder = await newFolder();
  await mkdir(join(folder, "data", "first-token"), { recursive: true });
  await writeFile(join(folder, "data", "first-token", "in the way"), "");
  await using service = await serve(folder, ["--empty"]);
  expect(service.words()).toContain("Access token   make one with: npx gabbro token create --name NAME");
  expect(service.output()).not.toContain("gab_");
});

test("a migrated database has a workspace for commands, and its first start still makes the first token and the sample", async () => {
  const folder = await newFolder();
  const first = await runCommand(folder, ["migrate"]);
  expect(first.stdout).toMatch(/^Applied: .*\nMade the workspace "default"\.\n$/);
  expect(await runCommand(folder, ["migrate"])).toMatchObject({ code: 0, stdout: "Nothing to do.\n" });
  expect(await runCommand(folder, ["token", "list"])).toMatchObject({ code: 0 });
  await using service = await serve(folder);
  expect(service.words()).toContain("on a new database");
  expect(await statusWith(service.url, service.token!)).toBe(200);
});

test("a first start keeps what commands stored before it, adds no sample to it, and no token where there is one", async () => {
  const folder = await newFolder();
  await runCommand(folder, ["migrate"]);
  await writeFile(join(folder, "mine.csv"), "question\nWhy?\n");
  expect(await runCommand(folder, ["import", "dataset", "mine.csv", "--slug", "mine"])).toMatchObject({
    code: 0,
  });
  const first = await serve(folder);
  expect(await statusWith(first.url, first.token!)).toBe(404);
  await first[Symbol.asyncDispose]();

  const other = await newFolder();
  await runCommand(other, ["migrate"]);
  const token = (await runCommand(other, ["token", "create", "--name", "mine"])).stdout.trim();
  await using second = await serve(other);
  expect(second.words()).not.toContain("on a new database");
  expect(await statusWith(second.url, token)).toBe(404);
});

test.each(["gab-pässword für alle, 24+ ✓✓✓✓", "gab_0123456789012345678901234567890"])(
  "GABBRO_TOKEN makes the first token a known one, which is not printed: %s",
  async (token) => {
    const folder = await newFolder();
    await using service = await serve(folder, [], { GABBRO_TOKEN: token });
    expect(service.words()).not.toContain(token);
    expect(service.words()).toContain("Bearer $GABBRO_TOKEN");
    expect(await statusWith(service.url, Buffer.from(token, "utf8").toString("latin1"))).toBe(200);
  },
);

test("tokens are made, listed and revoked from the command line while the service runs", async () => {
  const folder = await newFolder();
  await using service = await serve(folder, ["--empty"]);
  const made = await runCommand(folder, [
    "token",
    "create",
    "--name",
    "ci",
    "--scopes",
    "read",
    "--expires",
    "2999-01-01",
  ]);
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^gab_\w{49}\n$/) });
  const token = made.stdout.trim();
  const listed = (await runCommand(folder, ["token", "list"])).stdout;
  expect(listed).toMatch(/^ID +NAME +SCOPES +STATE +MADE +LAST USED\n/);
  expect(listed).toMatch(/ {2}ci +read +expires 2999-01-01T00:00:00Z {2}\S+Z {2}never$/m);
  expect(listed).not.toContain(token);
  const listedAsJson = JSON.parse((await runCommand(folder, ["token", "list", "--json"])).stdout);
  expect(listedAsJson).toMatchObject([
    { name: "first", expiresAt: null },
    {
      name: "ci",
      scopes: ["read"],
      expiresAt: "2999-01-01T00:00:00.000Z",
      revokedAt: null,
      lastUsedAt: null,
    },
  ]);
  const id = listed
    .split("\n")
    .find((line) => line.includes("  ci  "))!
    .split(" ")[0]!;
  expect(await runCommand(folder, ["token", "revoke", id])).toMatchObject({
    code: 0,
    stdout: `Revoked ${id}.\n`,
  });
  expect(await statusWith(service.url, token)).toBe(401);
  expect(await runCommand(folder, ["token", "revoke", id])).toMatchObject({ code: 1 });
  expect((await runCommand(folder, ["token", "list"])).stdout).toMatch(/ {2}ci +read +revoked /);
  const created = JSON.parse((await runCommand(folder, ["token", "create", "--name", "x", "--json"])).stdout);
  expect(created).toMatchObject({
    name: "x",
    scopes: ["read", "write"],
    token: expect.stringMatching(/^gab_/),
  });
  const revoked = await runCommand(folder, ["token", "revoke", created.id, "--json"]);
  expect(JSON.parse(revoked.stdout)).toMatchObject({ id: created.id, revokedAt: expect.any(String) });
});

test("a backup taken while clients write has every row acknowledged before it began, and is restored elsewhere", async () => {
  const folder = await newFolder();
  await using service = await serve(folder, ["--empty"]);
  const headers = { authorization: `Bearer ${service.token}`, "content-type": "application/json" };
  const acknowledged: string[] = [];
  let isDone = false;
  const write = async () => {
    while (!isDone) {
      const body = JSON.stringify({ slug: "country-guide", output: 1, inputTokens: 1, outputTokens: 1 });
      const answer = await fetch(`${service.url}/monitor/log`, { method: "POST", headers, body });
      acknowledged.push(((await answer.json()) as { log: { id: string } }).log.id);
    }
  };
  const writers = Promise.all(Array.from({ length: 8 }, write));
  await expect.poll(() => acknowledged.length, { timeout: 20_000 }).toBeGreaterThan(50);
  const before = [...acknowledged];
  const file = join(folder, "backup.sqlite");
  // A program of its own: in this process it would stop the writers.
  expect(await gabbro(folder, ["backup", file])).toMatchObject({
    code: 0,
    stdout: `Backed up to ${file}.\n`,
  });
  isDone = true;
  await writers;
  expect(await runCommand(folder, ["backup", file])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("already"),
  });
  expect(readdirSync(folder).toSorted()).toEqual(["backup.sqlite", "data"]);

  const elsewhere = await newFolder();
  const { code, stdout } = await runCommand(elsewhere, ["restore", file, "--json"]);
  expect([code, JSON.parse(stdout)]).toEqual([0, { file }]);
  await using restored = await serve(elsewhere);
  expect(restored.token).toBeUndefined();
  for (const id of before) {
    const query = JSON.stringify({ query: `{ log(id: "${id}") { id } }` });
    const answer = await fetch(`${restored.url}/graphql`, { method: "POST", headers, body: query });
    expect(await answer.json()).toEqual({ data: { log: { id } } });
  }
  expect(await runCommand(elsewhere, ["restore", file])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("move it away"),
  });
});

test("old traces are pruned with their logs, after a dry run that removes nothing", async () => {
  const folder = await newFolder();
  await using service = await serve(folder, ["--empty"]);
  const headers = { authorization: `Bearer ${service.token}`, "content-type": "application/json" };
  const ids: string[] = [];
  const days = (n: number) => Date.now() - n * 86_400_000;
  for (const startTime of [days(100), days(91), days(89), days(0)]) {
    const body = JSON.stringify({
      slug: "country-guide",
      output: 1,
      inputTokens: 1,
      outputTokens: 1,
      startTime,
    });
    const answer = await fetch(`${service.url}/monitor/log`, { method: "POST", headers, body });
    ids.push(((await answer.json()) as { log: { id: string } }).log.id);
  }
  const left = async () => {
    const query = `{ ${ids.map((id, n) => `l${n}: log(id: "${id}") { id }`).join(" ")} }`;
    const answer = await fetch(`${service.url}/graphql`, {
      method: "POST",
      headers,
      body: JSON.stringify({ query }),
    });
    const { data } = (await answer.json()) as { data: Record<string, unknown> };
    return Object.values(data).map((log) => log !== null);
  };
  const dry = await runCommand(folder, ["prune", "--older-than", "90d", "--dry-run"]);
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(/^2 traces began before /) });
  expect(await left()).toEqual([true, true, true, true]);
  const pruned = await runCommand(folder, ["prune", "--older-than", "90d"]);
  expect(pruned).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Removed 2 traces /) });
  expect(await left()).toEqual([false, false, true, true]);
  expect(await runCommand(folder, ["prune", "--older-than", "soon"])).toMatchObject({ code: 2 });
});

test("what is no whole database is not restored, and leaves nothing behind", async () => {
  const folder = await newFolder();
  await writeFile(join(folder, "broken"), "This is a shopping list. ".repeat(400));
  expect(await runCommand(folder, ["restore", "broken"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("not a database"),
  });
  expect(await runCommand(folder, ["restore", "missing"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("There is no file"),
  });
  const foreign = await openDatabase(`sqlite:${join(folder, "foreign")}`, entities);
  await foreign.close();
  expect(await runCommand(folder, ["restore", "foreign"])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("not one of Gabbro"),
  });
  expect(readdirSync(join(folder, "data"))).toEqual([]);
});

test("without settings it listens on localhost:3001 and keeps everything in data/gabbro.sqlite", () => {
  expect(loadConfig({ PORT: "", HOST: "" })).toEqual({
    databaseUrl: "sqlite:data/gabbro.sqlite",
    drainMs: 2_000,
    poolSize: 10,
    replicaUrls: [],
    migrateOnStart: true,
    host: "localhost",
    port: 3001,
    otlpGrpcPort: 4317,
    firstToken: null,
    corsOrigins: [],
    logLevel: "info",
    rateLimits: { perToken: null, perAddress: null },
    trustedProxies: [],
    metricsToken: null,
    playground: true,
    console: true,
    retentionDays: null,
    isRunByNpm: false,
    isRunByDev: false,
  });
});

test.each([
  ["a path", { CORS_ORIGIN: "https://a.example.com/path" }, "CORS_ORIGIN"],
  ["no web origin", { CORS_ORIGIN: "mailto:x" }, "CORS_ORIGIN"],
  ["a database in memory", { DATABASE_URL: "sqlite::memory:" }, "DATABASE_URL"],
  ["a database server without its place", { DATABASE_URL: "postgresql:gabbro" }, "DATABASE_URL"],
  ["a pool of one", { DATABASE_POOL_SIZE: "1" }, "DATABASE_POOL_SIZE"],
  ["a replica of a file", { DATABASE_REPLICA_URLS: "postgresql://db/gabbro" }, "DATABASE_REPLICA_URLS"],
  [
    "a replica that is a file",
    { DATABASE_URL: "postgresql://db/gabbro", DATABASE_REPLICA_URLS: "postgresql://a/b, sqlite:x" },
    "DATABASE_REPLICA_URLS",
  ],
  [
    "several replicas in one URL",
    { DATABASE_URL: "postgresql://db/gabbro", DATABASE_REPLICA_URLS: "postgresql://a,b/gabbro" },
    "DATABASE_REPLICA_URLS",
  ],
  ["a database whose name is encoded wrongly", { DATABASE_URL: "postgresql://db/%zz" }, "DATABASE_URL"],
  ["a start that may migrate", { MIGRATE_ON_START: "maybe" }, "MIGRATE_ON_START"],
  ["half a port", { PORT: "1.5" }, "PORT"],
  ["a port of gRPC that is a word", { OTLP_GRPC_PORT: "on" }, "OTLP_GRPC_PORT"],
  ["every address of IPv4 as a proxy", { TRUST_PROXY: "0.0.0.0/0" }, "TRUST_PROXY"],
  ["every address of IPv6 as a proxy", { TRUST_PROXY: "::/0" }, "TRUST_PROXY"],
  ["a token with a line break", { GABBRO_TOKEN: "0123456789\n0123456789012345" }, "GABBRO_TOKEN"],
])("a setting that cannot work is refused: %s", (_, env, name) => {
  expect(() => loadConfig(env)).toThrow(new RegExp(`^  ${name}(?:\\.\\d+)? must`, "m"));
});

test("a wrong URL of a database names both forms and not its password", () => {
  const refused = () => loadConfig({ DATABASE_URL: "postgres//me:canary-4d1@host/db" });
  expect(refused).toThrow(/sqlite:PATH.*postgresql:\/\//);
  expect(refused).not.toThrow("canary");
  const good = [
    "postgres://me:secret@host:5432/db",
    "postgresql:///db?host=/run/postgresql",
    "postgresql://me:secret@one:5432,two:5433/db?sslmode=require",
  ];
  for (const url of good) expect(loadConfig({ DATABASE_URL: url }).databaseUrl).toBe(url);
});

test.each([" ", ",", ", ", "\n"])("replicas may stand with %j between them", (between) => {
  const urls = ["postgresql://me:a,b@one/db", "postgres://two:5433/db"];
  const env = { DATABASE_URL: "postgresql://db/gabbro", DATABASE_REPLICA_URLS: urls.join(between) };
  expect(loadConfig(env).replicaUrls).toEqual(urls);
});

test("every error of the configuration is reported at once, and nothing is created", async () => {
  const folder = await newFolder();
  const env = {
    PORT: "99999",
    DATABASE_URL: "mysql://x",
    GABBRO_TOKEN: "short",
    CORS_ORIGIN: "nope",
    LOG_LEVEL: "loud",
  };
  const { code, stderr } = await runCommand(folder, ["serve"], env);
  expect(code).toBe(1);
  for (const name of Object.keys(env)) expect(stderr).toContain(`  ${name}`);
  expect(stderr).not.toContain("short");
  expect(readdirSync(folder)).toEqual([]);
});

test("a port that is in use is named with the setting that changes it, and the first token is handed over", async () => {
  await using service = await serve(await newFolder(), ["--empty"]);
  const folder = await newFolder();
  const { port } = new URL(service.url);
  const { code, stdout, stderr } = await gabbro(folder, ["serve"], { HOST: "127.0.0.1", PORT: port });
  expect(code).toBe(1);
  expect(stderr).toBe(
    `gabbro: Cannot listen on port ${port} of 127.0.0.1 (EADDRINUSE): it is in use. Stop what listens there, or set PORT to a free one, such as PORT=${Number(port) + 1}.\n`,
  );
  expect(stdout).toContain("Access token of the new database: in the file data/first-token");
  expect(await statusWith(service.url, firstTokenIn(folder)!)).toBe(401); // it is that of the other database
});

/** A folder with a database that refuses every row of a table. */
async function folderThatRefuses(table: string): Promise<string> {
  const folder = await newFolder();
  await runCommand(folder, ["migrate"]);
  const database = await openDatabase(`sqlite:${join(folder, "data", "gabbro.sqlite")}`, entities);
  const refuse = `create trigger refusing before insert on ${table} begin select raise(abort, 'refused'); end`;
  await database.orm.em.fork().execute(refuse);
  await database.close();
  return folder;
}

test("a first start that cannot add the traces of its sample warns, and hands over the first token", async () => {
  await using service = await serve(await folderThatRefuses("traces"));
  expect(await statusWith(service.url, service.token!)).toBe(200);
  await expect
    .poll(service.logs)
    .toContainEqual(expect.objectContaining({ level: 40, msg: "cannot add the traces of the sample" }));
});

test("a first start that fails once the first token is stored hands it over", async () => {
  const folder = await folderThatRefuses("sign_in_links");
  const { code, stdout } = await gabbro(folder, ["serve"], { PORT: "0", NODE_OPTIONS: ON_A_TERMINAL });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^Access token of the new database: gab_\w{49} /m);
});

test("OpenTelemetry is received at OTLP_GRPC_PORT, and a port that is taken is a warning that says what to set", async () => {
  const portOf = async (service: Awaited<ReturnType<typeof serve>>, words: string) => {
    const line = () => service.logs().find(({ msg }) => msg.includes(words));
    await expect.poll(line, { timeout: 10_000 }).toBeDefined();
    return line()!.port as number;
  };
  await using service = await serve(await newFolder(), ["--empty"]);
  const port = await portOf(service, "receives OpenTelemetry by gRPC");
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  const metadata = new grpc.Metadata();
  metadata.set("authorization", `Bearer ${service.token}`);
  const path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";
  const asBuffer = (bytes: Buffer) => bytes;
  const answer = await new Promise((resolve) => {
    const done = (error: unknown, bytes?: Buffer) => resolve(error ?? bytes);
    client.makeUnaryRequest(path, asBuffer, asBuffer, Buffer.alloc(0), metadata, done);
  });
  expect(answer).toEqual(Buffer.alloc(0));
  client.close();
  await using other = await serve(await newFolder(), ["--empty"], { OTLP_GRPC_PORT: String(port) });
  expect(await portOf(other, "set OTLP_GRPC_PORT to a free port")).toBe(port);
  expect((await fetch(`${other.url}/health`)).status).toBe(200);
});

test("an address that the machine lacks is named with the setting that changes it", async () => {
  const { code, stderr } = await gabbro(await newFolder(), ["serve"], { HOST: "203.0.113.9", PORT: "0" });
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^gabbro: Cannot listen on port 0 of 203\.0\.113\.9 \(EADDRNOTAVAIL\): .* Set HOST to /,
  );
});

/** Sends half of a request to record a log, and waits until the service has read it. */
async function sendHalf({ url, token }: Awaited<ReturnType<typeof serve>>) {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify({ slug: "country-guide", input: "in flight", output: "done" });
  const socket = connect(Number(port), hostname);
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
  });
  const closed = once(socket, "close");
  const head = `POST /monitor/log HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  socket.write(head + body.slice(0, 10));
  await fetch(`${url}/health`); // whatever came before it has been read
  return {
    /** Sends the other half and returns the answer, once the service has ended the connection. */
    finish: async () => {
      socket.write(body.slice(10));
      await closed;
      return received;
    },
  };
}

const stopping = (service: Awaited<ReturnType<typeof serve>>) =>
  expect
    .poll(() => service.logs().some(({ msg }) => msg.startsWith("stopping")), { timeout: 5_000 })
    .toBe(true);

test("SIGTERM lets a request in flight finish, refuses new ones, and ends with 0 although a client keeps its connection", async () => {
  const folder = await newFolder();
  const service = await serve(folder, ["--empty"], { DRAIN_SECONDS: "2" });
  const request = await sendHalf(service);
  service.child.kill("SIGTERM");
  await stopping(service);
  const received = await request.finish();
  expect(received).toMatch(/^HTTP\/1\.1 200 /);
  expect(await service.ended).toEqual({ code: 0, signal: null });
  await using again = await serve(folder);
  const id = /"log":\{"id":"([\w-]+)"/.exec(received)![1];
  const query = JSON.stringify({ query: `{ log(id: "${id}") { output } }` });
  const headers = { authorization: `Bearer ${service.token}`, "content-type": "application/json" };
  const read = await fetch(`${again.url}/graphql`, { method: "POST", headers, body: query });
  expect(await read.json()).toEqual({ data: { log: { output: "done" } } });
});

/** Repeats the first SIGINT at once, as an older Node.js does that runs the program. */
const REPEAT_SIGINT = `--import=data:text/javascript,${encodeURIComponent(
  'process.once("SIGINT", () => setTimeout(() => process.kill(process.pid, "SIGINT")))',
)}`;

test.each([
  ["SIGTERM after SIGTERM", ["SIGTERM", "SIGTERM"], { DRAIN_SECONDS: "2" }],
  ["SIGINT after SIGTERM, which ends the drain", ["SIGTERM", "SIGINT"], { DRAIN_SECONDS: "3600" }],
  ["SIGINT with SIGINT", ["SIGINT"], { NODE_OPTIONS: REPEAT_SIGINT }],
] as const)("a second signal loses no request in flight: %s", async (_, signals, env) => {
  await using service = await serve(await newFolder(), ["--empty"], env);
  const request = await sendHalf(service);
  for (const signal of signals) {
    service.child.kill(signal);
    await stopping(service);
  }
  expect(await request.finish()).toMatch(/^HTTP\/1\.1 200 /);
  await expect.poll(() => service.child.exitCode, { timeout: 10_000 }).toBe(0);
});

test("a person who interrupts it again after a second need not wait for requests in flight", async () => {
  await using service = await serve(await newFolder(), ["--empty"]);
  await sendHalf(service);
  const interrupt = () => {
    service.child.kill("SIGINT");
    return service.child.signalCode;
  };
  await expect.poll(interrupt, { timeout: 8_000 }).toBe("SIGINT");
});

const INTERRUPTED_LOOKUP = `
  import dns from "node:dns/promises";
  import { syncBuiltinESMExports } from "node:module";
  const { lookup } = dns;
  dns.lookup = async (...args) => {
    const found = lookup(...args); // keeps the process running
    process.kill(process.pid, "SIGINT");
    await new Promise((resolve) => process.once("SIGINT", resolve));
    return found;
  };
  syncBuiltinESMExports();`;

test("a start that is stopped before it listens ends in good order, and hands over the first token", async () => {
  const env = {
    ...{ PORT: "0", OTLP_GRPC_PORT: "0", CONSOLE: "false" },
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(INTERRUPTED_LOOKUP)}`,
  };
  const { code, stdout } = await gabbro(await newFolder(), ["serve", "--empty"], env);
  expect(code).toBe(0);
  expect(stdout).toContain("Access token of the new database: ");
  expect(stdout).not.toContain("Server listening");
});

test.each(["at once", "when it is stopped"])(
  "a service whose output nobody reads serves on, and stops by a signal: the reader leaves %s",
  async (leaves) => {
    const port = String(await freePort());
    const child = spawn(process.execPath, [program, "serve"], {
      cwd: await newFolder(),
      env: {
        PATH: process.env.PATH,
        HOST: "127.0.0.1",
        PORT: port,
        OTLP_GRPC_PORT: "off",
        DRAIN_SECONDS: "0",
      },
    });
    const ended = once(child, "exit");
    if (leaves === "at once") child.stdout.destroy();
    else child.stdout.resume();
    const ask = () => fetch(`http://127.0.0.1:${port}/health`).then(({ status }) => status);
    await expect.poll(() => ask().catch(() => 0), { timeout: 20_000 }).toBe(200);
    child.stdout.destroy(); // before the line about that request is written
    child.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
  },
);

test("it stops in good order when the npm that runs it is stopped", async () => {
  const folder = await newFolder();
  // What npm does: a shell of its own runs the script, gets the signal and dies of it.
  const script = `const { spawn } = require("node:child_process"); spawn(process.execPath, [${JSON.stringify(program)}, "serve"], { stdio: "inherit" }); process.on("SIGTERM", () => process.exit(143));`;
  const ports = { PORT: "0", OTLP_GRPC_PORT: "off" };
  const env = { PATH: process.env.PATH, HOST: "127.0.0.1", ...ports, npm_lifecycle_event: "start" };
  const shell = spawn(process.execPath, ["-e", script], { cwd: folder, env });
  let stdout = "";
  shell.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  await expect.poll(() => stdout, { timeout: 20_000 }).toContain("Gabbro is ready");
  shell.kill("SIGTERM");
  await once(shell.stdout, "close"); // the service holds the other end until it ends
  expect(stdout).toContain('"reason":"npm ended"');
});
