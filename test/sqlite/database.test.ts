import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { v7 as uuidv7 } from "uuid";
import { expect, test, vi } from "vitest";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { seedDatabase } from "../../src/sample/seed.ts";

/** A database in a folder of its own, migrated or not; gone when the test ends. */
async function newDatabase(schema: "migrated" | "bare" = "migrated") {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const file = join(folder, "gabbro.sqlite");
  const database = await openDatabase(`sqlite:${file}`, entities);
  if (schema === "migrated") await migrate(database);
  return {
    ...database,
    folder,
    file,
    async [Symbol.asyncDispose]() {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const row = (id = uuidv7(), name = id) => ({ id, name, createdAt: new Date() });

async function names({ read }: { read: Awaited<ReturnType<typeof newDatabase>>["read"] }) {
  return (await read.selectFrom("Workspace").select("name").orderBy("name").execute()).map(
    ({ name }) => name,
  );
}

test("a new database equals the entities once it is migrated, and migrating it again does nothing", async () => {
  await using database = await newDatabase("bare");
  expect(await database.orm.schema.getUpdateSchemaSQL()).toContain("create table");
  expect((await migrate(database)).length).toBeGreaterThan(0);
  expect(await database.orm.schema.getUpdateSchemaSQL()).toBe("");
  expect(await migrate(database)).toEqual([]);
});

test("the snapshot beside the migrations equals the entities, so the next migration begins where the last one ended", async () => {
  await using database = await newDatabase();
  expect(await database.orm.migrator.checkSchema()).toBe(false);
});

/** The columns of each table that callers fill at any length. */
const longColumns = {
  dataset_rows: ["name", "ideal_output", "metadata", "values"],
  dataset_row_revisions: ["name", "ideal_output", "metadata", "values"],
  prompt_versions: ["model", "variables", "messages", "system_text", "text"],
  audit_entries: ["before", "after"],
  traces: ["metadata", "evaluators", "ideal_output", "input", "output"],
  logs: [
    ...["aggregate_usage", "evaluators", "metadata", "variables"],
    ...["events", "attributes", "ideal_output", "input", "output"],
  ],
};

test.for(Object.entries(longColumns))(
  "short columns of %s are read without its long texts, which stand behind them",
  async ([table, long]) => {
    await using database = await newDatabase();
    const columns: { name: string }[] = await database.orm.em.execute(`pragma table_info(${table})`);
    expect(columns.map(({ name }) => name).slice(-long.length)).toEqual(long);
  },
);

test("two programs that migrate the same new database at once both end well", async () => {
  await using one = await newDatabase("bare");
  const other = await openDatabase(`sqlite:${one.file}`, entities);
  await Promise.all([migrate(one), migrate(other)]);
  expect(await one.orm.schema.getUpdateSchemaSQL()).toBe("");
  await other.close();
});

test("a database made by a newer program is refused and left as it is", async () => {
  await using database = await newDatabase();
  const insert =
    "insert into mikro_orm_migrations (name, executed_at) values ('Migration29991231235959_future', 0)";
  await database.orm.em.fork().execute(insert);
  await expect(migrate(database)).rejects.toThrow("made by a newer Gabbro (Migration29991231235959_future)");
});

test("migrating keeps the rows that depend on a table which is rebuilt", async () => {
  await using database = await newDatabase();
  await seedDatabase(database, { firstToken: null, sample: "with sample" });
  const connection = database.orm.em.getConnection("write");
  const [table] = await connection.execute<{ sql: string }[]>(
    "select sql from sqlite_master where name = 'datasets'",
  );
  // What a generated migration does to a table, inside the transaction in which the migrator runs it.
  const rebuild = [
    table!.sql.replace("`datasets`", "`datasets_new`"),
    "insert into datasets_new select * from datasets",
    "drop table datasets",
    "alter table datasets_new rename to datasets",
  ];
  const { migrator } = database.orm;
  migrator.up = async () => {
    await connection.transactional(async (transaction) => {
      for (const statement of rebuild) await connection.execute(statement, [], "run", transaction);
    });
    return [];
  };
  await migrate(database);
  const [count] = await connection.execute<{ n: number }[]>("select count(*) as n from dataset_rows");
  expect(count!.n).toBeGreaterThanOrEqual(20);
});

test("both connections run in WAL with full sync and foreign keys, and the one for reads cannot write", async () => {
  await using database = await newDatabase();
  for (const type of ["read", "write"] as const) {
    const pragma = async (name: string) => {
      const [found] = await database.orm.em
        .getConnection(type)
        .execute<Record<string, unknown>[]>(`pragma ${name}`);
      return Object.values(found!)[0];
    };
    expect(await pragma("journal_mode")).toBe("wal");
    expect(await pragma("synchronous")).toBe(2);
    expect(await pragma("foreign_keys")).toBe(1);
    expect(await pragma("query_only")).toBe(type === "read" ? 1 : 0);
    if (type === "read") expect(await pragma("cache_size")).toBe(-64 * 1024); // 64 MB
  }
});

test.each([
  ["a folder", async (file: string) => void (await import("node:fs")).mkdirSync(file)],
  ["a file that is no database", (file: string) => writeFile(file, "This is a shopping list. ".repeat(400))],
])("%s in place of the database is refused with its name and left as it is", async (_, make) => {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const file = join(folder, "gabbro.sqlite");
  await make(file);
  const before = await readFile(file, "utf8").catch(() => null);
  await expect(openDatabase(`sqlite:${file}`, entities)).rejects.toThrow(
    `Cannot open the database ${file}: `,
  );
  expect(await readFile(file, "utf8").catch(() => null)).toBe(before);
  await rm(folder, { recursive: true });
});

test("the folder of the database is made when it is missing", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const file = join(folder, "a", "b", "gabbro.sqlite");
  await (await openDatabase(`sqlite:${file}`, entities)).close();
  expect(existsSync(file)).toBe(true);
  await rm(folder, { recursive: true });
});

test("what is committed at once shares transactions, and a row that is refused fails alone", async () => {
  await using database = await newDatabase();
  await database.commit([["Workspace", row("00000000-0000-7000-8000-000000000000", "taken")]]);
  let transactions = 0;
  // biome-ignore lint/suspicious/noExplicitAny: the driver's handle, which only this test needs
  const handle = await (database.orm.em.getConnection("write") as any).getNativeClient();
  const exec = handle.exec.bind(handle);
  handle.exec = (sql: string) => {
    if (sql.startsWith("begin")) transactions += 1;
    return exec(sql);
  };
  const good = Array.from({ length: 300 }, (_, n) =>
    database.commit([["Workspace", row(undefined, `good ${n}`)]]),
  );
  await Promise.all(good);
  expect(transactions).toBeLessThan(10);

  const mixed = await Promise.allSettled([
    database.commit([["Workspace", row(undefined, "before")]]),
    database.commit([["Workspace", row(undefined, "taken")]]),
    database.commit([["Workspace", row(undefined, "after")]]),
  ]);
  expect(mixed.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  const stored = await names(database);
  expect(stored).toEqual(expect.arrayContaining(["before", "after"]));
  expect(stored).toHaveLength(303);
});

test("what ails the whole database fails all who wait at once, not one after the other", async () => {
  await using database = await newDatabase();
  // biome-ignore lint/suspicious/noExplicitAny: the driver's handle, which only this test needs
  const handle = await (database.orm.em.getConnection("write") as any).getNativeClient();
  handle.pragma("query_only = on");
  let transactions = 0;
  const exec = handle.exec.bind(handle);
  handle.exec = (sql: string) => {
    if (sql.startsWith("begin")) transactions += 1;
    return exec(sql);
  };
  const writes = Array.from({ length: 20 }, (_, n) =>
    database.commit([["Workspace", row(undefined, `w${n}`)]]),
  );
  const outcomes = await Promise.allSettled(writes);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["rejected"]));
  expect(transactions).toBe(1);
});

test("rows that belong together are stored together or not at all", async () => {
  await using database = await newDatabase();
  const workspace = row(undefined, "w");
  const orphan = { ...row(), workspace: uuidv7(), slug: "s", columns: [] };
  await expect(
    database.commit([
      ["Workspace", workspace],
      ["Dataset", orphan],
    ]),
  ).rejects.toThrow("FOREIGN KEY");
  expect(await names(database)).toEqual([]);
});

test("a write waits for another process that holds the database, without stopping this one", async () => {
  await using database = await newDatabase();
  const other = await openDatabase(`sqlite:${database.file}`, entities);
  const blocker = other.orm.em.getConnection("write");
  await blocker.execute("begin immediate");
  let settled = false;
  const written = database.commit([["Workspace", row(undefined, "patient")]]).then(() => {
    settled = true;
  });
  for (let turns = 0; turns < 20; turns++) await new Promise(setImmediate);
  await database.read.selectFrom("Workspace").select("id").execute();
  expect(settled).toBe(false);
  await blocker.execute("commit");
  await written;
  expect(await names(database)).toEqual(["patient"]);
  await other.close();
});

test("a database that stays locked is UNAVAILABLE for all who wait, once and not one after the other", async () => {
  await using database = await newDatabase();
  const other = await openDatabase(`sqlite:${database.file}`, entities);
  await other.orm.em.getConnection("write").execute("begin immediate");
  let now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => {
    now += 1_000;
    return now;
  });
  let failures: PromiseSettledResult<void>[];
  try {
    const waiting = [1, 2, 3].map((n) => database.commit([["Workspace", row(undefined, `w${n}`)]]));
    failures = await Promise.allSettled(waiting);
  } finally {
    clock.mockRestore();
  }
  for (const failure of failures) {
    expect(failure).toMatchObject({
      status: "rejected",
      reason: { code: "UNAVAILABLE", headers: { "retry-after": "1" } },
    });
  }
  await other.orm.em.getConnection("write").execute("rollback");
  await other.close();
});

test.each([
  [
    "the versions of a prompt in order",
    "select id, version from prompt_versions where workspace_id = 'w' and prompt_id = 'p' order by id",
    "prompt_versions_prompt_id_workspace_id_id_version_index",
  ],
  [
    "the rows of a dataset in order",
    "select * from dataset_rows where workspace_id = 'w' and dataset_id = 'd' and id > 'x' order by id limit 10",
    "dataset_rows_dataset_id_workspace_id_id_version_index",
  ],
  [
    "a prompt by its slug",
    "select * from prompts where workspace_id = 'w' and slug = 's'",
    "prompts_workspace_id_slug_unique",
  ],
  [
    "a dataset by its slug",
    "select * from datasets where workspace_id = 'w' and slug = 's'",
    "datasets_workspace_id_slug_unique",
  ],
  [
    "logs by time",
    "select * from logs where workspace_id = 'w' and start_time > 0 order by start_time desc, id desc limit 10",
    "logs_by_time",
  ],
  [
    "logs of a prompt by time",
    "select * from logs where workspace_id = 'w' and prompt_slug = 'p' order by start_time desc, id desc limit 10",
    "logs_by_prompt",
  ],
  [
    "logs of a user by time",
    "select * from logs where workspace_id = 'w' and user_id = 'u' order by start_time desc, id desc limit 10",
    "logs_by_user",
  ],
  [
    "logs of an organization by time",
    "select * from logs where workspace_id = 'w' and organization_id = 'o' order by start_time desc, id desc limit 10",
    "logs_by_organization",
  ],
  [
    "many logs by their ids",
    `select * from logs where workspace_id = 'w' and id in (${Array(100).fill("'i'").join(", ")})`,
    "sqlite_autoindex_logs_1",
  ],
  [
    "many traces by their ids",
    `select * from traces where workspace_id = 'w' and id in (${Array(100).fill("'i'").join(", ")})`,
    "sqlite_autoindex_traces_1",
  ],
  [
    "the logs of a trace",
    "select * from logs where workspace_id = 'w' and trace_id in ('a', 'b')",
    "logs_trace_id_workspace_id_id_index",
  ],
  [
    "a page of tokens",
    "select * from access_tokens where workspace_id = 'w' and id > 'a' order by id limit 2",
    "access_tokens_workspace_id_id_index",
  ],
  [
    "a piece of the tokens that were not revoked",
    "select * from access_tokens where workspace_id = 'w' and revoked_at is null and id > 'a' order by id limit 2",
    "access_tokens_unrevoked",
  ],
  [
    "a page of sessions",
    "select * from console_sessions where workspace_id = 'w' and id > 'a' order by id limit 2",
    "console_sessions_workspace_id_id_index",
  ],
  ["a token by its hash", "select * from access_tokens where hash = 'h'", "access_tokens_hash_unique"],
  ...["datasets", "prompts"].map((table) => [
    `eight ${table} by their ids`,
    `select * from ${table} where workspace_id = 'w' and id in ('1', '2', '3', '4', '5', '6', '7', '8')`,
    `sqlite_autoindex_${table}_1`,
  ]),
])("an index gives %s without sorting or reading all", async (_, select, index) => {
  await using database = await newDatabase();
  const plan = await planOf(database, select);
  expect(plan).toMatch(new RegExp(`USING (?:COVERING )?INDEX ${index}`));
  expect(plan).not.toMatch(/SCAN|TEMP B-TREE/);
});

test.each(["datasets", "prompts"])("deleted %s are found without a look at all others", async (table) => {
  await using database = await newDatabase();
  const deleted = `select id from ${table} where deleted_at is not null and id > 'a' order by id limit 500`;
  expect(await planOf(database, deleted)).toContain(`USING INDEX ${table}_deleted`);
});

async function planOf(
  { orm }: { orm: Awaited<ReturnType<typeof newDatabase>>["orm"] },
  select: string,
): Promise<string> {
  const steps = await orm.em.fork().execute<{ detail: string }[]>(`explain query plan ${select}`);
  return steps.map(({ detail }) => detail).join("; ");
}

test("logs from before the full-text index are found by their words, their user and their organization", async () => {
  await using database = await newDatabase("bare");
  await database.orm.migrator.up({ to: "Migration20261121010000_authoring" });
  const em = database.orm.em.fork();
  const insert = (table: string, row: Record<string, string | number>) =>
    em.execute(
      `insert into ${table} (${Object.keys(row).join(", ")}) values (${Object.values(row).map((value) => `'${value}'`)})`,
    );
  await insert("workspaces", { id: "w", name: "w", created_at: 0 });
  const party = (id: string) => JSON.stringify({ id, name: null });
  const trace = { id: "t", workspace_id: "w", name: "n", start_time: 0, created_at: 0 };
  await insert("traces", { ...trace, user: party("u"), organization: party("o") });
  const log = { id: "l", workspace_id: "w", trace_id: "t", type: "generation", prompt_slug: "p" };
  const rest = {
    input: '"hello\\nworld"',
    output: "{}",
    start_time: 0,
    cost_source: "UNPRICED",
    created_at: 0,
  };
  await insert("logs", { ...log, ...rest });
  await migrate(database);
  const found = await em.execute(
    "select user_id, organization_id from logs where search_id in (select rowid from log_texts where log_texts match 'world')",
  );
  expect(found).toEqual([{ user_id: "u", organization_id: "o" }]);
  await em.execute("delete from traces");
  expect(await em.execute("select rowid from log_texts where log_texts match 'world'")).toEqual([]);
});

test("closing waits for what is still to be committed", async () => {
  const database = await newDatabase();
  const written = Array.from({ length: 50 }, () => database.commit([["Workspace", row()]]));
  await database.close();
  await Promise.all(written);
  const again = await openDatabase(`sqlite:${database.file}`, entities);
  expect(await names(again)).toHaveLength(50);
  await again.close();
  await rm(database.folder, { recursive: true });
});

test("a new database is filled once, in one piece, and kept as it is from then on", async () => {
  await using database = await newDatabase();
  const options = { firstToken: null, sample: "with sample" } as const;
  const tokens = await Promise.all([seedDatabase(database, options), seedDatabase(database, options)]);
  expect(tokens.filter((token) => token !== null)).toHaveLength(1);
  expect(await names(database)).toEqual(["default"]);
  expect(await seedDatabase(database, options)).toBeNull();
});
