import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import pg from "pg";
import { v7 as uuidv7 } from "uuid";
import { expect, test, vi } from "vitest";
import { unavailable } from "../../src/database/driverErrors.ts";
import { bringUpToDate, migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { keysByMembers, keysOf } from "../../src/database/postgresql/search.ts";
import { inTransaction } from "../../src/database/transaction.ts";
import { addDatasetItem } from "../../src/datasets/items.resolvers.ts";
import { entities } from "../../src/entities.ts";
import { setModelPrice } from "../../src/pricing/resolvers.ts";
import { publishPrompt, rollbackPromptTag } from "../../src/prompts/tags.resolvers.ts";
import { seedDatabase } from "../../src/sample/seed.ts";
import { commandLineContext, createWorkspace, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { createAccessToken, revokeAccessToken } from "../../src/workspaces/tokens.resolvers.ts";
import { addDataset, addPrompt, addWorkspace } from "../support/data.ts";
import { execute } from "../support/postgresSetup.ts";
import { newPostgresqlDatabase, type Server, startServer } from "../support/server.ts";

/** A database of the test's own, opened as often as wanted; gone when the test ends. */
async function newDatabase(schema: "migrated" | "bare" = "migrated") {
  const { url, drop } = await newPostgresqlDatabase(schema);
  const opened: Awaited<ReturnType<typeof openDatabase>>[] = [];
  const open = async () => {
    const database = await openDatabase(url, entities, { poolSize: 3 });
    opened.push(database);
    return database;
  };
  return {
    url,
    open,
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((database) => database.close()));
      await drop();
    },
  };
}

const row = (id = uuidv7(), name = id) => ({ id, name, createdAt: new Date() });

test("a new database equals the entities once it is migrated, and migrating it again does nothing", async () => {
  await using own = await newDatabase("bare");
  const database = await own.open();
  expect(await migrate(database)).not.toEqual([]);
  expect(await database.orm.schema.getUpdateSchemaSQL({ wrap: false })).toBe("");
  expect(await migrate(database)).toEqual([]);
});

test("the snapshot beside the migrations equals the entities, so the next migration begins where the last one ended", async () => {
  await using own = await newDatabase();
  expect(await (await own.open()).orm.migrator.checkSchema()).toBe(false);
});

test("of several programs that migrate a new database at once one does, and the others wait for it", async () => {
  await using own = await newDatabase("bare");
  const programs = await Promise.all([own.open(), own.open(), own.open()]);
  const applied = await Promise.all(programs.map(migrate));
  expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
  const options = { firstToken: null, sample: "with sample" } as const;
  const tokens = await Promise.all(programs.map((program) => seedDatabase(program, options)));
  expect(tokens.filter((token) => token !== null)).toHaveLength(1);
});

test("a database made by a newer program is refused and left as it is", async () => {
  await using own = await newDatabase();
  const database = await own.open();
  await execute(own.url, "insert into mikro_orm_migrations (name) values ('Migration29991231235959_future')");
  const message = "made by a newer Gabbro (Migration29991231235959_future)";
  await expect(migrate(database)).rejects.toThrow(message);
  await expect(bringUpToDate(database, { migrateOnStart: false })).rejects.toThrow(message);
});

test("a start that must not migrate refuses an old database and serves a migrated one", async () => {
  await using own = await newDatabase("bare");
  const database = await own.open();
  await expect(bringUpToDate(database, { migrateOnStart: false })).rejects.toThrow("gabbro migrate");
  await migrate(database);
  await bringUpToDate(database, { migrateOnStart: false });
});

test("connections have their name and their limits, also where the URL says something of its own", async () => {
  await using own = await newDatabase();
  const database = await openDatabase(`${own.url}?options=-c%20work_mem%3D5MB`, entities);
  const show = async (name: string) =>
    Object.values((await database.orm.em.fork().execute(`show ${name}`))[0]!)[0];
  expect(await show("application_name")).toBe("gabbro");
  expect(await show("statement_timeout")).toBe("10s");
  expect(await show("idle_in_transaction_session_timeout")).toBe("30s");
  expect(await show("work_mem")).toBe("5MB");
  await database.close();
});

/** A network before a server which swallows everything while it is silent: connections to it still open. */
async function networkTo(databaseUrl: string) {
  const url = new URL(databaseUrl);
  const place = { host: url.hostname, port: Number(url.port) };
  const sockets = new Set<Socket>();
  let isSilent = false;
  const network = createServer((near) => {
    const far = connect(place);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => isSilent || to.write(bytes)).on("error", () => {});
      from.on("close", () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => network.listen(0, "127.0.0.1", resolve));
  url.port = String((network.address() as AddressInfo).port);
  return {
    url: url.href,
    fallSilent: () => {
      isSilent = true;
    },
    goOn: () => {
      isSilent = false;
    },
    [Symbol.dispose]: () => {
      for (const socket of sockets) socket.destroy();
      network.close();
    },
  };
}

test("a server that falls silent is given up and found again by itself; one that is busy is not", async () => {
  await using own = await newDatabase();
  using network = await networkTo(own.url);
  const database = await openDatabase(network.url, entities, { poolSize: 2, silenceMs: 200 });
  const ask = (statement: string) => database.orm.em.fork().execute(statement);
  await ask("select pg_sleep(1)");
  network.fallSilent();
  const error = await ask("select 1").catch((thrown) => thrown);
  expect(unavailable(error)?.message).toContain("may be stored");
  network.goOn();
  expect(await ask("select 1 as one")).toEqual([{ one: 1 }]);
  await database.close();
});

test("what is cached is cached no more within 5 seconds after the connection that listens fell silent", async () => {
  await using own = await newDatabase();
  using network = await networkTo(own.url);
  const database = await openDatabase(network.url, entities, { poolSize: 2 });
  const { now } = database.generation;
  await vi.waitFor(() => expect(now()).toBe(now()), 10_000);
  network.fallSilent();
  await vi.waitFor(() => expect(now()).not.toBe(now()), 5_000);
  network.goOn();
  await vi.waitFor(() => expect(now()).toBe(now()), 10_000);
  await database.close();
});

test("a database that cannot be opened is named, and its password is not", async () => {
  const url = "postgresql://somebody:canary-7e1@127.0.0.1:9/nothing";
  const error: Error = await openDatabase(url, entities).catch((thrown) => thrown);
  expect(error.message).toMatch(/^Cannot open the database nothing on 127\.0\.0\.1:9: /);
  expect(error.message).not.toContain("canary");
});

test("what is committed at once shares transactions, and a row that is refused fails alone", async () => {
  await using own = await newDatabase();
  const database = await own.open();
  await database.commit([["Workspace", row(undefined, "taken")]]);
  const transactions = async () => {
    const sql = "select distinct xmin::text from workspaces where name like 'good%'";
    return (await database.orm.em.fork().execute(sql)).length;
  };
  const good = (n: number) => database.commit([["Workspace", row(undefined, `good ${n}`)]]);
  await Promise.all(Array.from({ length: 300 }, (_, n) => good(n)));
  expect(await transactions()).toBeLessThan(10);
  const mixed = await Promise.allSettled(
    ["before", "taken", "after"].map((name) => database.commit([["Workspace", row(undefined, name)]])),
  );
  expect(mixed.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
});

test("rows that belong together are stored together or not at all, however many they are", async () => {
  await using own = await newDatabase();
  const database = await own.open();
  const workspace = row();
  const dataset = (n: number, owner = workspace.id) =>
    ["Dataset", { ...row(), workspace: owner, slug: `s${n}`, columns: [] }] as const;
  const many = Array.from({ length: 12_000 }, (_, n) => dataset(n));
  const units = [["Workspace", workspace], ...many] as Parameters<typeof database.commit>[0];
  await expect(database.commit([...units, dataset(-1, uuidv7())] as typeof units)).rejects.toThrow("foreign");
  expect(await database.read.selectFrom("Workspace").select("id").execute()).toEqual([]);
  await database.commit(units);
  expect(await database.read.selectFrom("Dataset").select("id").execute()).toHaveLength(12_000);
});

/** Two programs on the database of a server, each with a context of the workspace `default`. */
async function twoGateways({ database }: Server, url: string) {
  const other = await openDatabase(url, entities, { poolSize: 3 });
  const workspaceId = await getWorkspaceId(database, "default");
  const contexts = [database, other].map((program) => () => commandLineContext(program, workspaceId));
  return {
    run: <T>(operation: (context: ReturnType<typeof commandLineContext>, at: number) => Promise<T>) =>
      Promise.allSettled(
        Array.from({ length: 8 }, (_, at) => operation(contexts[at % contexts.length]!(), at)),
      ),
    [Symbol.asyncDispose]: () => other.close(),
  };
}

const statuses = (settled: PromiseSettledResult<unknown>[]) => settled.map(({ status }) => status);
const allGood = Array(8).fill("fulfilled");

test("of two gateways that add the same key at once there is one row, with one of the values", async () => {
  await using server = await startServer();
  await using gateways = await twoGateways(server, server.databaseUrl);
  await addDataset(server, { slug: "d", columns: [{ name: "n", type: "text" }] });
  const added = await gateways.run((context, at) =>
    addDatasetItem(context, {
      slug: "d",
      input: { name: null, key: "k", values: { n: `${at}` }, idealOutput: null, metadata: null },
    }),
  );
  expect(statuses(added)).toEqual(allGood);
  expect((await server.get("/datasets/d")).body.dataset.rows).toHaveLength(1);
});

test("a tag that is moved at many places at once keeps a history in which each move follows the one before", async () => {
  await using server = await startServer();
  await using gateways = await twoGateways(server, server.databaseUrl);
  const versions = Array.from({ length: 8 }, (_, n) => ({ version: `${n}` }));
  await addPrompt(server, { slug: "p", versions });
  const moved = await gateways.run((context, at) =>
    publishPrompt(context, { slug: "p", newTag: "live", version: `${at}` }),
  );
  expect(statuses(moved)).toEqual(allGood);
  const back = await gateways.run((context) =>
    rollbackPromptTag(context, { slug: "p", input: { tag: "live" } }),
  );
  expect(statuses(back)).toEqual(allGood);
  const history = await server.database.orm.em
    .fork()
    .execute('select "from", "to" from prompt_tag_moves order by id');
  const byTime = history.toSorted((a, b) => Number(b.from === null) - Number(a.from === null));
  expect(byTime.filter(({ from }) => from === null)).toHaveLength(1);
  const left = history.map(({ from }) => from).toSorted();
  const entered = [null, ...history.map(({ to }) => to)];
  const tag = await server.database.orm.em
    .fork()
    .execute("select version from prompt_tags t join prompt_versions v on v.id = t.version_id");
  entered.splice(entered.indexOf(tag[0]!.version), 1);
  expect(entered.toSorted()).toEqual(left);
});

test("two tags that take each other's version at once do not swap", async () => {
  await using server = await startServer();
  await using gateways = await twoGateways(server, server.databaseUrl);
  for (let round = 0; round < 5; round++) {
    const slug = `p${round}`;
    await addPrompt(server, {
      slug,
      versions: [{ version: "1" }, { version: "2" }],
      tags: { a: "1", b: "2" },
    });
    const moved = await gateways.run((context, at) =>
      at < 2
        ? publishPrompt(context, { slug, newTag: at === 0 ? "a" : "b", tag: at === 0 ? "b" : "a" })
        : Promise.resolve(null),
    );
    expect(statuses(moved)).toEqual(allGood);
    const tags = await server.database.read
      .selectFrom("PromptTag")
      .select(["label", "version", "prompt"])
      .execute();
    const byPrompt = Object.values(Object.groupBy(tags, ({ prompt }) => prompt)) as (typeof tags)[];
    for (const [one, other] of byPrompt) expect(one!.version).toBe(other!.version);
  }
});

test("a token is revoked once, and a price set at many places at once is there once", async () => {
  await using server = await startServer();
  await using gateways = await twoGateways(server, server.databaseUrl);
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  const made = await createAccessToken(context, { name: "t", scopes: ["read"], expiresAt: null });
  const revoked = await gateways.run((own) => revokeAccessToken(own, { id: made.accessToken.id }));
  expect(statuses(revoked).filter((status) => status === "fulfilled")).toHaveLength(1);
  const set = await gateways.run((own, at) =>
    setModelPrice(own, { model: "m", provider: null, inputPrice: at, outputPrice: at, validFrom: null }),
  );
  expect(statuses(set)).toEqual(allGood);
  expect(await server.database.read.selectFrom("ModelPrice").select("id").execute()).toHaveLength(1);
});

test("a duplicate is a CONFLICT, also when it comes at the same moment", async () => {
  await using own = await newDatabase();
  const programs = await Promise.all([own.open(), own.open()]);
  const made = await Promise.allSettled(programs.map((program) => createWorkspace(program, "one")));
  expect(statuses(made).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(made.find(({ status }) => status === "rejected")).toMatchObject({ reason: { code: "CONFLICT" } });
});

test("a transaction that others are in the way of for long is UNAVAILABLE, not a fault", async () => {
  await using own = await newDatabase();
  const database = await own.open();
  let now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    now += 1_000;
    return now;
  });
  const failing = inTransaction(database.fork(null), async () => {
    throw Object.assign(new Error("could not serialize access"), { code: "40001" });
  }).finally(() => clock.mockRestore());
  await expect(failing).rejects.toMatchObject({ code: "UNAVAILABLE", headers: { "retry-after": "1" } });
});

test("a server that ends connections is answered as UNAVAILABLE, and served again once it is back", async () => {
  await using server = await startServer();
  await addDataset(server, { slug: "d", columns: [] });
  const lock = await openDatabase(server.databaseUrl, entities);
  const waiting = "from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  const slow = lock.orm.em.transactional(async (em) => {
    await em.execute("lock table datasets");
    const answer = server.get("/datasets/d");
    const cut = () => lock.orm.em.fork().execute(`select pg_terminate_backend(pid) ${waiting}`);
    await expect.poll(async () => (await cut()).length).toBeGreaterThan(0);
    return answer;
  });
  expect(await slow).toMatchObject({
    status: 503,
    headers: { "retry-after": "1" },
    body: { code: "UNAVAILABLE" },
  });
  await expect.poll(async () => (await server.get("/datasets/d")).status).toBe(200);
  await lock.close();
});

test("a statement that is ended because it takes too long is answered as UNAVAILABLE", async () => {
  await using server = await startServer();
  await addDataset(server, { slug: "d", columns: [] });
  const lock = await openDatabase(server.databaseUrl, entities);
  const slow = lock.orm.em.transactional(async (em) => {
    await em.execute("lock table datasets");
    const answer = server.graphql('{ dataset(slug: "d") { slug } }');
    const cancel =
      "select pg_cancel_backend(pid) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
    await expect.poll(async () => (await lock.orm.em.fork().execute(cancel)).length).toBeGreaterThan(0);
    return answer;
  });
  expect((await slow).body.errors[0].extensions.code).toBe("UNAVAILABLE");
  await lock.close();
});

test("what PostgreSQL says of a refused row does not reach the log", async () => {
  const lines: string[] = [];
  await using server = await startServer({ log: (line) => lines.push(line) });
  await server.database.orm.em
    .fork()
    .execute("alter table datasets add constraint unlucky check (name <> 'canary-93c')");
  const operation =
    'mutation { createDataset(input: { slug: "d", name: "canary-93c", columns: [] }) { dataset { slug } } }';
  expect(await server.run(operation)).toMatchObject({ error: { code: "INTERNAL" } });
  expect(lines.join("")).toContain("unlucky");
  expect(lines.join("")).not.toMatch(/Failing row|canary-93c.*detail/);
});

test("each transaction of PostgreSQL brings its own words and metadata into their indexes, and none those of others", async () => {
  await using server = await startServer();
  const indexes = await server.database.orm.em
    .fork()
    .execute(
      "select relname, reloptions from pg_class join pg_am on pg_am.oid = relam where amname = 'gin' and relnamespace = current_schema()::regnamespace order by relname",
    );
  const reloptions = ["fastupdate=off"];
  expect(indexes).toEqual([
    { relname: "log_texts_lexemes", reloptions },
    { relname: "logs_by_metadata", reloptions },
  ]);
});

test("logs are kept whatever is in them: long slugs and ids, long words, all kinds of letters", async () => {
  await using server = await startServer();
  const long = Array.from({ length: 3_000 }, (_, n) =>
    String.fromCodePoint(0x4e00 + ((n * 7_919) % 20_000)),
  ).join("");
  const name = long.slice(0, 512);
  const record = {
    slug: name,
    output: `${long} ${"字 ".repeat(60_000)}`,
    input: long,
    tag: name,
    version: name,
  };
  const parties = { user: { id: name, name }, organization: { id: name, name } };
  const { status } = await server.post("/monitor/log", {
    ...record,
    ...parties,
    inputTokens: 1,
    outputTokens: 1,
  });
  expect(status).toBe(200);
  const query = "query($f: LogFilter) { logs(filter: $f) { nodes { id } } }";
  const shown = `${long.slice(0, 900)}*`;
  for (const f of [{ slug: name }, { userId: name }, { organizationId: name }, { text: shown }]) {
    expect(await server.run(query, { f })).toHaveLength(1);
  }
  expect(await server.run(query, { f: { text: long.slice(0, 900) } })).toHaveLength(0);
});

const id = "'01890a5d-ac96-774b-bcce-b302099a8057'";
const leads = (column: string) =>
  `select id from logs where workspace_id = ${id} and left(${column}, 256) = left('x', 256) and ${column} = 'x' order by start_time desc, id desc limit 10`;

test.each([
  [
    "the rows of a dataset in order",
    `select * from dataset_rows where workspace_id = ${id} and dataset_id = ${id} and id > ${id} order by id limit 10`,
    "dataset_rows_dataset_id_workspace_id_id_version_index",
  ],
  [
    "the versions of a prompt in order",
    `select id, version from prompt_versions where workspace_id = ${id} and prompt_id = ${id} order by id`,
    "prompt_versions_prompt_id_workspace_id_id_version_index",
  ],
  [
    "datasets by their slugs",
    `select * from datasets where workspace_id = ${id} and slug > 'a' order by slug limit 10`,
    "datasets_workspace_id_slug_unique",
  ],
  [
    "the audit log",
    `select * from audit_entries where workspace_id = ${id} order by id desc limit 10`,
    "audit_entries_workspace_id_id_index",
  ],
  [
    "logs by time",
    `select * from logs where workspace_id = ${id} and (start_time, id) < (now(), ${id}) order by start_time desc, id desc limit 10`,
    "logs_by_time",
  ],
  ["logs of a prompt by time", leads("prompt_slug"), "logs_by_prompt"],
  ["logs of a user by time", leads("user_id"), "logs_by_user"],
  ["logs of an organization by time", leads("organization_id"), "logs_by_organization"],
  ["a token by its hash", "select * from access_tokens where hash = 'h'", "access_tokens_hash_unique"],
])("an index gives %s without sorting or reading all", async (_, select, index) => {
  await using own = await newDatabase();
  const { orm } = await own.open();
  const plan = await orm.em.transactional(async (em) => {
    await em.execute("set local enable_seqscan = off"); // it is faster while the tables are empty
    const lines = await em.execute(`explain ${select}`);
    return lines.map((line) => line["QUERY PLAN"]).join("\n");
  });
  expect(plan).toMatch(new RegExp(`Index (?:Only )?Scan (?:Backward )?using ${index}`));
  expect(plan).not.toContain("Sort");
});

test("words and metadata are looked up in their indexes", async () => {
  await using own = await newDatabase();
  const { read, search } = await own.open();
  const workspace = "01890a5d-ac96-774b-bcce-b302099a8057";
  const plans: string[] = [];
  for (const keys of [
    keysOf(search.query(workspace, 'capital "of kenya" nai*') as Parameters<typeof keysOf>[0], 10),
    keysByMembers(workspace, [{ key: "a", value: 1 }], 10),
  ]) {
    const { sql: text, parameters } = keys.compile(read);
    const client = new pg.Client({ connectionString: own.url });
    await client.connect();
    await client.query("set enable_seqscan = off");
    const { rows } = await client.query(`explain ${text}`, [...parameters]);
    plans.push(JSON.stringify(rows));
    await client.end();
  }
  expect(plans[0]).toContain("Bitmap Index Scan on log_texts_lexemes");
  expect(plans[1]).toContain("Bitmap Index Scan on logs_by_metadata");
});

test("no word of a search reads words of another workspace, whole or as a prefix", async () => {
  await using server = await startServer();
  const { database } = server;
  const own = await addWorkspace(server, "own");
  const log = (output: string, token?: string) =>
    server.post("/monitor/log", { slug: "x", output }, { ...(token && { token }) });
  for (const long of ["", ` ${"x".repeat(500)}`]) {
    await log(`Apples of Kenya${long}`);
    await log(`Apricots of Kenya${long}`, own.token);
  }
  const { lexemes } = database.search.query(own.id, 'ap* "of Kenya"') as Parameters<typeof keysOf>[0];
  const found = await Promise.all(
    lexemes
      .split(" & ")
      .map((lexeme) =>
        database.orm.em
          .fork()
          .execute(
            "select workspace_id, count(*) from log_texts where log_lexemes(workspace_id, body) @@ cast(? as tsquery) group by 1",
            [lexeme],
          ),
      ),
  );
  expect(found).toEqual(Array(3).fill([{ workspace_id: own.id, count: 2 }]));
  const query = "query($text: String!) { logs(filter: { text: $text }) { nodes { id } } }";
  for (const text of ["ap*", "apricots", "kenya", `${"x".repeat(450)}*`])
    expect(await server.run(query, { text }, own.token)).toHaveLength(2 - Number(text.startsWith("x")));
});

test("a filter by metadata parses none of another workspace's", async () => {
  await using server = await startServer();
  const { database } = server;
  const own = await addWorkspace(server, "own");
  const log = (env: string, token?: string) =>
    server.post("/monitor/log", { slug: "x", output: "a", metadata: { env } }, { ...(token && { token }) });
  for (let n = 0; n < 20; n++) await log("prod");
  await log("prod", own.token);
  await log("test", own.token);
  const { sql: text, parameters } = keysByMembers(own.id, [{ key: "env", value: "prod" }], 10).compile(
    database.read,
  );
  const client = new pg.Client({ connectionString: server.databaseUrl });
  await client.connect();
  await client.query("set enable_seqscan = off");
  const { rows } = await client.query(`explain (analyze, format json) ${text}`, [...parameters]);
  await client.end();
  const find = (plan: Record<string, unknown>, type: string): Record<string, unknown> | undefined =>
    plan["Node Type"] === type
      ? plan
      : (plan.Plans as (typeof plan)[] | undefined)?.map((each) => find(each, type)).find(Boolean);
  const read = find(rows[0]["QUERY PLAN"][0].Plan, "Bitmap Index Scan");
  expect(read).toMatchObject({ "Index Name": "logs_by_metadata", "Actual Rows": 1 });
  const query = '{ logs(filter: { metadata: [{ key: "env", value: "prod" }] }) { nodes { id } } }';
  expect(await server.run(query, {}, own.token)).toHaveLength(1);
});

test("statements that parse metadata take the places of searches, and not all connections of a workspace", async () => {
  await using server = await startServer();
  const findRows = vi.spyOn(server.database.search, "findRows");
  const log = { slug: "x", output: "zebra", metadata: { env: "prod" } };
  for (const metadata of [{ env: "prod" }, { env: "test" }])
    await server.post("/monitor/log", { ...log, metadata });
  const query = (filter: string) => `{ logs(filter: { text: "zebra"${filter} }) { nodes { id } } }`;
  expect(await server.run(query(""))).toHaveLength(2);
  expect(findRows).not.toHaveBeenCalled();
  expect(await server.run(query(', metadata: [{ key: "env", value: "prod" }]'))).toHaveLength(1);
  expect(findRows).toHaveBeenCalledOnce();
  findRows.mockRestore();
});

test("ANALYZE keeps nothing of words and metadata, of which it would have those of 30,000 logs in memory at once", async () => {
  await using server = await startServer();
  for (let n = 0; n < 20; n++)
    await server.post("/monitor/log", { slug: "x", output: `word${n}`, metadata: { n } });
  for (const table of ["logs", "log_texts"]) await execute(server.databaseUrl, `analyze ${table}`);
  const indexes = await execute(
    server.databaseUrl,
    "select c.relname as name from pg_class c join pg_am a on a.oid = c.relam where a.amname = 'gin' order by 1",
  );
  expect(indexes).toEqual([{ name: "log_texts_lexemes" }, { name: "logs_by_metadata" }]);
  const kept =
    "select distinct tablename from pg_stats where tablename in ('log_texts_lexemes', 'logs_by_metadata')";
  expect(await execute(server.databaseUrl, kept)).toEqual([]);
});

test("statements that look at many logs for those of a filter take the places of searches", async () => {
  await using server = await startServer();
  for (let n = 0; n < 3; n++) await server.post("/monitor/log", { slug: "x", output: "a", model: null });
  const findRows = vi.spyOn(server.database.search, "findRows");
  const [from, to] = [Date.now() - 60_000, Date.now() + 60_000].map((ms) => new Date(ms).toISOString());
  const { edges } = await server.run("{ traces(first: 1) { edges { cursor } } }");
  const lists: [string, object, unknown][] = [
    [
      "query($few: LogFilter) { logs(first: 3, filter: $few) { nodes { id } } }",
      {},
      expect.objectContaining({ length: 3 }),
    ],
    [
      "query($few: LogFilter, $after: String) { traces(filter: $few, after: $after) { nodes { id } } }",
      { after: edges[0].cursor },
      expect.objectContaining({ length: 2 }),
    ],
    [
      `query($few: UsageFilter) { usage(from: "${from}", to: "${to}", filter: $few) { nodes { logs } } }`,
      {},
      [{ logs: 3 }],
    ],
    [
      `query($few: LogCondition) { logCounts(from: "${from}", to: "${to}", groupBy: PROMPT, filter: $few) { nodes { logs } } }`,
      {},
      [{ logs: 3 }],
    ],
  ];
  for (const [query, variables, expected] of lists) {
    findRows.mockClear();
    expect(await server.run(query, { ...variables, few: null }), query).toEqual(expected);
    expect(findRows, query).not.toHaveBeenCalled();
    for (const slug of [["x", "y"], "x"]) {
      findRows.mockClear();
      expect(await server.run(query, { ...variables, few: { slug } }), query).toEqual(expected);
      expect(findRows, query).toHaveBeenCalled();
    }
  }
  findRows.mockRestore();
});

test("a workspace whose statements all wait leaves connections to another one, which reads and writes meanwhile", async () => {
  await using server = await startServer();
  const { token } = await addWorkspace(server, "neighbour");
  const lock = await openDatabase(server.databaseUrl, entities);
  const em = lock.orm.em.fork(); // not by a callback, in which MikroORM gives every request this transaction
  await em.begin();
  await em.execute("lock table model_prices");
  const stuck = Array.from({ length: 8 }, () => server.graphql("{ modelPrices { nodes { id } } }"));
  const held =
    "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
  await expect.poll(async () => (await lock.orm.em.fork().execute(held)).length).toBe(3); // of 5 connections
  expect((await server.get("/prompts", { token })).status).toBe(200);
  const log = await server.post("/monitor/log", { slug: "none", output: "a" }, { token });
  expect(log.status).toBe(200);
  await em.commit();
  for (const answer of stuck) expect((await answer).body.data.modelPrices.nodes).toEqual([]);
  await lock.close();
});
