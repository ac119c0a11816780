// Records what a release leaves behind, for the tests of upgrades: npm run release:record -- [FOLDER OF ITS CLONE]
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import pg from "pg";
import { findBinaries } from "../postgresServer.ts";
import { paths, queries, TOKEN } from "./questions.ts";

const here = fileURLToPath(new URL(".", import.meta.url));
const clone = process.argv[2] ?? join(here, "../../..");
const { version } = JSON.parse(await readFile(join(clone, "package.json"), "utf8"));
const folder = await mkdtemp(join(tmpdir(), "gabbro-release-"));
const server = spawn(process.execPath, [join(here, "../postgresServer.ts"), findBinaries()!], {
  stdio: ["pipe", "pipe", "inherit"],
});
try {
  await cp(join(here, "content"), folder, { recursive: true });
  const [url] = await once(server.stdout!, "data");
  const postgresql = await fill(String(url).trim());
  const rows = await rowsOf(String(url).trim());
  const statements = (await readFile(join(folder, "ddl"), "utf8")).trim().split("\n");
  await write("postgresql", {
    statements: [...statements.map((line) => JSON.parse(line)), ...rows],
    answers: postgresql,
  });
  const sqlite = await fill(`sqlite:${join(folder, "gabbro.sqlite")}`);
  await gabbro(`sqlite:${join(folder, "gabbro.sqlite")}`, "backup", join(folder, "copy"));
  const file = (await readFile(join(folder, "copy"))).toString("base64");
  await write("sqlite", { file, answers: sqlite });
} finally {
  server.stdin!.end();
  await rm(folder, { recursive: true, force: true });
}

async function write(database: string, recorded: object): Promise<void> {
  const packed = gzipSync(JSON.stringify(recorded), { level: 9 });
  await writeFile(join(here, `${version}.${database}.json.gz`), packed);
  console.log(`${version}.${database}.json.gz: ${packed.length.toLocaleString("en")} bytes`);
}

function settingsFor(databaseUrl: string) {
  return {
    ...{
      PATH: process.env.PATH,
      DATABASE_URL: databaseUrl,
      GABBRO_TOKEN: TOKEN,
      OTLP_GRPC_PORT: "off",
      PORT: "0",
    },
    ...{ HOST: "127.0.0.1", DDL_FILE: join(folder, "ddl"), NODE_OPTIONS: `--import=${join(here, "ddl.js")}` },
  };
}

/** Runs `gabbro` of the release; a clone is its working folder, as `ddl.js` needs its packages. */
async function gabbro(databaseUrl: string, ...args: string[]): Promise<void> {
  const options = { cwd: clone, env: settingsFor(databaseUrl) };
  await promisify(execFile)(process.execPath, [join(clone, "bin/gabbro.js"), ...args], options);
}

/** Fills a new database by the command line and over REST, and returns what the release answers. */
async function fill(databaseUrl: string): Promise<Record<string, unknown>> {
  const serve = [join(clone, "bin/gabbro.js"), "serve", "--empty"];
  const service = spawn(process.execPath, serve, {
    cwd: clone,
    env: settingsFor(databaseUrl),
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    return await fillBy(service, databaseUrl);
  } finally {
    service.kill("SIGTERM");
    await once(service, "exit");
  }
}

async function fillBy(service: ChildProcess, databaseUrl: string): Promise<Record<string, unknown>> {
  const address = await addressOf(service);
  await gabbro(databaseUrl, "import", "prompts", join(folder, "prompts"), "--yes");
  await gabbro(databaseUrl, "import", "dataset", join(folder, "quiz.jsonl"), "--slug", "quiz");
  const ask = async (path: string, body?: string) => {
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const response = await fetch(`${address}${path}`, { headers, ...(body && { method: "POST", body }) });
    const text = await response.text();
    if (!response.ok || text.includes('"errors"')) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  for (const line of (await readFile(join(folder, "logs.jsonl"), "utf8")).trim().split("\n"))
    await ask("/monitor/log", line);
  const answers: Record<string, unknown> = {};
  for (const path of paths) answers[path] = await ask(path);
  for (const query of queries) answers[query] = await ask("/graphql", JSON.stringify({ query }));
  return answers;
}

async function addressOf({ stdout }: ChildProcess): Promise<string> {
  let output = "";
  for await (const chunk of stdout!) {
    output += chunk;
    const found = /Server listening at (http:[^"]+)"/.exec(output)?.[1];
    if (found) return found;
  }
  throw new Error(`The service did not start: ${output}`);
}

/** The rows of all tables, as statements that insert them without triggers and in any order. */
async function rowsOf(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows: tables } = await client.query(`
    select table_name as name, string_agg(quote_ident(column_name), ',' order by ordinal_position) as columns
    from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema = 'public' and table_type = 'BASE TABLE' and is_generated = 'NEVER' group by 1`);
  const statements = ["set session_replication_role = replica"];
  for (const { name, columns } of tables) {
    const { rows } = await client.query(
      `select json_agg(r)::text as list from (select ${columns} from "${name}") r`,
    );
    const list = rows[0].list;
    if (list)
      statements.push(
        `insert into "${name}" (${columns}) overriding system value select ${columns} from json_populate_recordset(null::"${name}", $rows$${list}$rows$)`,
      );
  }
  const { rows: sequences } = await client.query(
    "select format('select setval(%L, %s)', schemaname || '.' || sequencename, last_value) as text from pg_sequences where last_value is not null",
  );
  await client.end();
  return [...statements, ...sequences.map(({ text }) => text), "set session_replication_role = origin"];
}
