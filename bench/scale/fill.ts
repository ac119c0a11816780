import pg from "pg";
import { migrate } from "../../src/database/migrate.ts";
import { type Database, openDatabase } from "../../src/database/open.ts";
import { bodyOf } from "../../src/database/postgresql/search.ts";
import { createDataset } from "../../src/datasets/authoring.resolvers.ts";
import { addDatasetItems } from "../../src/datasets/items.resolvers.ts";
import { entities } from "../../src/entities.ts";
import { createPrompt, createPromptVersion } from "../../src/prompts/authoring.resolvers.ts";
import { publishPrompt } from "../../src/prompts/tags.resolvers.ts";
import { commandLineContext, createWorkspace } from "../../src/workspaces/resolvers.ts";
import { newToken } from "../../src/workspaces/tokens.resolvers.ts";
import { copyIn, lineOf } from "./copy.ts";
import { createGenerator, type GeneratedLog, ownersOf } from "./generator.ts";
import { keptConstraints, keptIndexes, runAll } from "./indexes.ts";

const AT_ONCE = 4_000;
const DAYS = 365;
const DAY_MS = 86_400_000;
const ROWS = 1_000;
const SEED = 7;
const LOG_TABLES = ["traces", "logs", "log_texts"];

export interface Filled {
  /** Ids in the order of the sizes. */
  workspaces: string[];
  from: Date;
  to: Date;
}

/** Makes the workspaces and their prompts and datasets, then the logs, as many for each workspace as `sizes` says. */
export async function fill(url: string, sizes: number[], say: (words: string) => void): Promise<Filled> {
  const database = await openDatabase(url, entities);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await migrate(database);
    const workspaces = await makeWorkspaces(database, client, sizes.length);
    say(`${workspaces.length} workspaces with a prompt and a dataset of ${ROWS} rows each`);
    const to = new Date();
    const from = new Date(to.getTime() - DAYS * DAY_MS);
    await makeLogs(client, url, { workspaces, from, to }, sizes, say);
    return { workspaces, from, to };
  } finally {
    await client.end();
    await database.close();
  }
}

/** Makes a token for a workspace. */
export async function makeToken(url: string, workspaceId: string): Promise<string> {
  const database = await openDatabase(url, entities);
  const { token, row } = newToken(workspaceId, {
    name: "scale",
    scopes: ["read", "write", "publish", "admin"],
    expiresAt: null,
  });
  await database.commit([["AccessToken", row]]);
  await database.close();
  return token;
}

async function makeWorkspaces(database: Database, client: pg.Client, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) ids.push(await createWorkspace(database, `workspace-${n}`));
  const [first, ...others] = ids;
  const context = () => commandLineContext(database, first!);
  await createPrompt(context(), { slug: "prompt-0", name: "Prompt", description: "Answers orders." });
  for (const version of ["1.0.0", "1.1.0", "2.0.0"]) {
    const model = { provider: "openai", client: "openai", model: "gpt-4o-mini", version: null };
    const text = "Answer {{ name }}, who lives in {{ country }}, in one {{ tone }} sentence.";
    const input = { version, text, systemText: "Be brief.", model: { ...model, parameters: {} } };
    await createPromptVersion(context(), { slug: "prompt-0", input });
  }
  await publishPrompt(context(), { slug: "prompt-0", newTag: "production", version: "1.1.0" });
  const names = ["question", "answer", "facts", "source", "note"];
  const columns = names.map((name) => ({ name, type: "text" as const }));
  await createDataset(context(), { slug: "large", columns });
  await createDataset(context(), { slug: "small", columns });
  const items = Array.from({ length: ROWS }, (_, n) => ({
    values: Object.fromEntries(names.map((name) => [name, `the value of ${name} in row ${n}`])),
    idealOutput: `ideal ${n}`,
  }));
  await addDatasetItems(context(), { slug: "large", input: { items } });
  await copyToOthers(client, first!, others);
  return ids;
}

/** Gives the other workspaces what the first has: new ids keep the time in the old ones, and so their order. */
async function copyToOthers(client: pg.Client, first: string, others: string[]): Promise<void> {
  const tables = { prompts: [], prompt_versions: ["prompt_id"], prompt_tags: ["prompt_id", "version_id"] };
  const all = { ...tables, datasets: [], dataset_rows: ["dataset_id"] };
  for (const [table, references] of Object.entries<string[]>(all)) {
    const { rows } = await client.query<{ column_name: string }>(
      "select column_name from information_schema.columns where table_name = $1 order by ordinal_position",
      [table],
    );
    const columns = rows.map(({ column_name: name }) => name);
    const values = columns.map((name) =>
      name === "workspace_id"
        ? "other"
        : name === "id" || references.includes(name)
          ? `cast(overlay("${name}"::text placing substr(md5("${name}"::text || other::text), 1, 12) from 25) as uuid)`
          : `"${name}"`,
    );
    await client.query(
      `insert into "${table}" (${columns.map((name) => `"${name}"`)}) select ${values} from "${table}", unnest(cast($2 as uuid[])) as other where workspace_id = $1`,
      [first, others],
    );
  }
  await client.query("analyze");
}

/** Copies the logs into tables without indexes, then makes the indexes: much quicker than one by one. */
async function makeLogs(
  client: pg.Client,
  url: string,
  filled: Filled,
  sizes: number[],
  say: (words: string) => void,
): Promise<void> {
  const constraints = await keptConstraints(client, LOG_TABLES);
  const indexes = await keptIndexes(client, LOG_TABLES);
  for (const { drop } of [...constraints.toReversed(), ...indexes]) await client.query(drop);
  let began = performance.now();
  await copyLogs(url, filled, sizes, say);
  say(`copied in ${Math.round((performance.now() - began) / 1_000)} s`);
  began = performance.now();
  const isKey = ({ make }: { make: string }) => /primary key/i.test(make);
  const isOfTexts = ({ table }: { table: string }) => table === "log_texts";
  await runAll(url, constraints.filter(isKey), say);
  await Promise.all([
    runAll(url, indexes.filter(isOfTexts), say),
    runAll(
      url,
      indexes.filter((index) => !isOfTexts(index)),
      say,
    ),
  ]);
  await runAll(
    url,
    constraints.filter((constraint) => !isKey(constraint)),
    say,
  );
  await runAll(url, [{ make: "vacuum analyze" }], say);
  say(`indexes made in ${Math.round((performance.now() - began) / 1_000)} s`);
}

async function copyLogs(
  url: string,
  { workspaces, from, to }: Filled,
  sizes: number[],
  say: (words: string) => void,
) {
  const owners = ownersOf(sizes, SEED);
  const generate = createGenerator(SEED);
  const stepMs = (to.getTime() - from.getTime()) / owners.length;
  const tables = await Promise.all(Object.entries(COLUMNS).map((table) => openTable(url, table)));
  let sending: Promise<unknown> = Promise.resolve();
  for (let start = 0; start < owners.length; start += AT_ONCE) {
    const lines = { traces: "", logs: "", log_texts: "" };
    for (let n = start; n < Math.min(start + AT_ONCE, owners.length); n++) {
      const time = new Date(from.getTime() + n * stepMs);
      const log = generate(n);
      if (n === start && log.body !== bodyOf({ ...log }))
        throw new Error("The words are not those of the program.");
      addLines(lines, n, workspaces[owners[n]!]!, time, log);
    }
    await sending;
    sending = Promise.all(tables.map(({ copy, name }) => copy(lines[name as "logs"])));
    if (start > 0 && start % (250 * AT_ONCE) === 0) say(`${start.toLocaleString("en")} logs copied`);
  }
  await sending;
  await Promise.all(tables.map(({ close }) => close()));
}

/** Each table has a connection of its own, and one transaction: what is copied after a truncation needs no write-ahead log. */
async function openTable(url: string, [name, columns]: [string, string]) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("begin");
  await client.query(`truncate ${name}`);
  return {
    name,
    copy: (lines: string) => copyIn(client, `copy ${name} (${columns}) from stdin with (freeze true)`, lines),
    close: async () => {
      await client.query("commit");
      await client.end();
    },
  };
}

const COLUMNS = {
  traces: `id, workspace_id, name, organization, "user", metadata, start_time, end_time, created_at`,
  logs: "id, workspace_id, trace_id, type, prompt_slug, version, provider, model, user_id, organization_id, input, output, metadata, start_time, end_time, latency_ms, input_tokens, output_tokens, cost, cost_source, created_at",
  log_texts: "log_id, workspace_id, body",
};

function addLines(
  lines: Record<keyof typeof COLUMNS, string>,
  n: number,
  workspace: string,
  time: Date,
  log: GeneratedLog,
): void {
  const [traceId, logId] = [idOf(time, 0, n), idOf(time, 1, n)];
  const start = time.toISOString();
  const end = new Date(time.getTime() + log.latencyMs).toISOString();
  const party = (id: string | null) => id && `{"id":"${id}","name":"The name of ${id}"}`;
  const { slug, version, model, user, organization, metadata } = log;
  lines.traces += lineOf([
    ...[traceId, workspace, slug, party(organization), party(user), metadata, start, end, end],
  ]);
  lines.logs += lineOf([
    ...[logId, workspace, traceId, "generation", slug, version, model.provider, model.model],
    ...[user, organization, `"${log.input}"`, `"${log.output}"`, metadata, start, end, log.latencyMs],
    ...[log.inputTokens, log.outputTokens, log.cost, "COMPUTED", end],
  ]);
  lines.log_texts += lineOf([logId, workspace, log.body]);
}

/** A UUID of version 7. */
function idOf(time: Date, kind: 0 | 1, n: number): string {
  const ms = time.getTime().toString(16).padStart(12, "0");
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7${kind}00-8000-${n.toString(16).padStart(12, "0")}`;
}
