import Database from "better-sqlite3";
import pg from "pg";
import { v7 as uuidv7 } from "uuid";
import { createApp } from "../../src/app.ts";
import { createSignInLink } from "../../src/console/links.resolvers.ts";
import { signIn } from "../../src/console/sessions.resolvers.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset, addPrompt, addToken, addWorkspace, model } from "./data.ts";
import { announced, put } from "./files.ts";
import { addLogs } from "./logs.ts";
import type { Server } from "./server.ts";

const HUGE = 'ä🦓 \\ " \n\t'.repeat(700_000);

/** JSON that is written as no program of ours writes it: with spaces, an order of its own and a key that stands twice. */
const ODD_JSON = '{ "b": 1.0, "a" : 1e2, "b": "\\u00e9\\ud83e\\udd93", "10": 0, "9": -0.0 }';

/** A request that is answered once, and then the same again. */
const REPEATED = {
  path: "/datasets/odd/items",
  body: { values: { q: "once" } },
  headers: { "idempotency-key": "k" },
};

/** Every byte, in more than one chunk. */
const FILE = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 256));

const time = (text: string) => new Date(text);

/** Fills every table, with values that are easily changed on the way. */
export async function fillWithOddValues(server: Server) {
  const { database } = server;
  const workspace = await getWorkspaceId(database, "default");
  const other = await addWorkspace(server, "other 🦓");
  await addToken(server, { scopes: ["read"], expiresAt: time("9999-12-31T23:59:59.999Z") });
  await addPrompt(server, {
    slug: "guide",
    description: "",
    versions: [{ version: "1", model: model(null, "m") }, { version: "2" }],
    tags: { production: "1" },
  });
  await server.run(
    'mutation { publishPrompt(slug: "guide", input: { newTag: "production", to: { version: "2" } }) { promptTag { label } } }',
  );
  await server.run(
    'mutation { setModelPrice(input: { model: "m", inputPrice: 1e-7, outputPrice: 0.1 }) { modelPrice { inputPrice } } }',
  );
  const { id: dataset, rowIds } = await addDataset(server, {
    slug: "odd",
    columns: [{ name: "q", type: "text" }],
    rows: [
      { values: { q: "" }, idealOutput: "", metadata: { kind: "🦓", z: 1, a: null } },
      { values: { q: HUGE.slice(0, 500_000) }, idealOutput: null, metadata: null },
      { values: {}, metadata: {} },
    ],
  });
  await server.run(
    `mutation { updateDatasetItem(id: "${rowIds[0]}", input: { values: { q: "x" } }) { datasetRow { id } } }`,
  );
  await server.run(
    'mutation { updateDataset(slug: "odd", input: { renameColumns: [{ from: "q", to: "r" }] }) { dataset { id } } }',
  );
  await server.run(
    'mutation { tagDatasetVersion(slug: "odd", input: { tag: "gate", to: { version: 2 } }) { datasetTag { id } } }',
  );
  await addDataset(server, { slug: "odd", columns: [], rows: [{ values: { x: 1 } }], workspace: other.name });
  await server.post("/monitor/log", `{"slug": 1, "input": "🦓 \0`);
  await storeRejected(database);
  const values = [
    { startTime: time("0001-01-01T00:00:00.001Z"), cost: 1e-7, latencyMs: 0, input: "" },
    { startTime: time("9999-12-31T23:59:59.999Z"), cost: 0.1, latencyMs: 2 ** 53 - 1, input: null },
    {
      startTime: time("1969-12-31T23:59:59.999Z"),
      cost: 123456789.12345679,
      input: { kind: "x", b: 1, a: 2 },
    },
    {
      endTime: time("2026-03-29T01:30:00.007Z"),
      cost: null,
      output: HUGE,
      metadata: { kind: "raw", n: 1.5 },
    },
    {
      output: { text: "The zebra ran home", more: [1e-7, 0.1, -1, "null"] },
      userId: "u🦓",
      metadata: { a: "" },
    },
    { output: "zebra, again", input: "naïve \u2028 \ufffd", inputTokens: 2 ** 31 - 1 },
  ];
  const { ids } = await addLogs(server, values.length, (at) => values[at]!);
  const run = (statement: string) => database.orm.em.fork().execute(statement);
  for (const [table, column, id] of [
    ["dataset_rows", '"values"', rowIds[2]],
    ["logs", '"ideal_output"', ids[4]],
    ["logs", '"metadata"', ids[5]],
  ])
    await run(`update ${table} set ${column} = '${ODD_JSON}' where id = '${id}'`);
  const { columnsVersion: version } = await database.read
    .selectFrom("Dataset")
    .select("columnsVersion")
    .where("id", "=", dataset)
    .executeTakeFirstOrThrow();
  const row = { ...keyed, id: uuidv7(), workspace, dataset, version, logId: ids[0]!, values: { q: "1" } };
  await database.commit([["DatasetRow", row]]);
  await addFile(server, FILE);
  await addTrees(server);
  await createSignInLink(database, server.token);
  await signIn(database, { token: server.token });
  await server.post(REPEATED.path, REPEATED.body, { headers: REPEATED.headers });
  return { otherToken: other.token, ids };
}

/** A trace with what the columns of trees hold, and an experiment. */
async function addTrees(server: Server): Promise<void> {
  await server.post("/monitor/experiments", { featureSlug: "🦓 f", name: "e" });
  const logs = [
    { id: "🦓", type: "agent", name: "a\n", cost: 1e-7, evaluators: [{ slug: "tone" }] },
    { id: "2", parentId: "🦓", type: "tool", output: null },
  ];
  await server.post("/monitor/trace", {
    name: "tree",
    evaluationConfig: { sampleRate: 0.1 },
    input: ODD_JSON,
    logs,
  });
  const values = [
    { key: "a", value: { doubleValue: 1e-7 } },
    { key: "🦓", value: { stringValue: HUGE.slice(0, 9_000) } },
  ];
  const ids = { traceId: "5b8efff798038103d269b633813fc60c", spanId: "eee19b7ec3c1b174" };
  const events = [{ name: "exception", timeUnixNano: "1772359200000000001", attributes: values }];
  const span = { ...ids, name: "s", startTimeUnixNano: "1772359200000123456", attributes: values, events };
  const { status } = await server.post("/v1/traces", {
    resourceSpans: [{ scopeSpans: [{ spans: [span] }] }],
  });
  if (status !== 200) throw new Error(`The span was refused: ${status}`);
}

async function addFile(server: Server, bytes: Buffer): Promise<void> {
  const { uploadUrl } = await announced(server, { fileName: "🦓.jpg" });
  const { status } = await put(uploadUrl, bytes);
  if (status !== 200) throw new Error(`The file was refused: ${status}`);
}

const keyed = {
  name: "",
  key: "Ä🦓",
  idealOutput: null,
  metadata: null,
  createdAt: time("2026-01-01T00:00:00Z"),
};

/** All rows of all tables as they are stored, by the names of the tables. */
export async function dump(url: string): Promise<Record<string, unknown[]>> {
  const { query, close } = url.startsWith("sqlite:") ? openFile(url) : await openServer(url);
  const tables = (await query(tablesOf(url))).map(({ name }) => String(name)).toSorted();
  const all: Record<string, unknown[]> = {};
  for (const table of tables)
    all[table] = (await query(`select * from "${table}" order by id`)).map((row) =>
      Object.entries(row)
        .filter(([name]) => name !== "search_id") // only SQLite has it, and gives it by itself
        .map(([name, value]) => [name, value instanceof Date ? value.getTime() : value])
        .toSorted(([a], [b]) => (a! < b! ? -1 : 1)),
    );
  await close();
  return all;
}

const tablesOf = (url: string) =>
  url.startsWith("sqlite:")
    ? "select name from sqlite_master where type = 'table' and name not like 'log_texts%' and name not like 'sqlite_%' and name <> 'mikro_orm_migrations'"
    : "select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace and relname not in ('log_texts', 'mikro_orm_migrations')";

type Row = Record<string, unknown>;

function openFile(url: string) {
  const file = new Database(url.slice("sqlite:".length), { readonly: true });
  return {
    query: async (statement: string) => file.prepare(statement).all() as Row[],
    close: async () => void file.close(),
  };
}

async function openServer(url: string) {
  const types = new pg.TypeOverrides();
  types.setTypeParser(pg.types.builtins.INT8, Number);
  const client = new pg.Client({ connectionString: url, types });
  await client.connect();
  return {
    query: async (statement: string) => (await client.query(statement)).rows as Row[],
    close: () => client.end(),
  };
}

/** What the service answers on a database to one who looks at everything. */
export async function answersOf(url: string, token: string): Promise<unknown[]> {
  const database = await openDatabase(url, entities);
  const app = await createApp(database, { corsOrigins: [] }, false);
  const headers = { authorization: `Bearer ${token}` };
  const ask = async (operation: string) => {
    const payload = { query: operation };
    return (await app.inject({ method: "POST", url: "/graphql", headers, payload })).json();
  };
  /** The stored response; another workspace has none, and adds a row with an id of its own. */
  const repeated = async () => {
    const { path, body, headers: key } = REPEATED;
    const sent = { url: path, headers: { ...headers, ...key }, payload: body };
    const { datasetRow, ...rest } = (await app.inject({ method: "POST", ...sent })).json();
    return { ...rest, datasetRow: { ...datasetRow, id: typeof datasetRow.id } };
  };
  const answers = [
    await ask(
      "{ logs(first: 100) { nodes { id startTime endTime input output idealOutput metadata cost latencyMs trace { id } } } }",
    ),
    await ask('{ logs(filter: { text: "zebra" }) { nodes { id } } }'),
    await ask(`{ logs(filter: { text: "\\"zebra ran\\" hom*" }) { nodes { id } } }`),
    await ask('{ logs(filter: { metadata: [{ key: "kind", value: "raw" }] }) { nodes { id } } }'),
    await ask('{ usage(from: "2026-01-01", to: "9999-01-01", groupBy: PROMPT) { nodes { key logs cost } } }'),
    await ask('{ describePrompt(slug: "guide") { version availableTags availableVersions } }'),
    await ask("{ auditLog { nodes { action subject after } } }"),
    (await app.inject({ url: "/datasets/odd", headers })).json(),
    await repeated(),
  ];
  await app.close();
  return answers;
}
