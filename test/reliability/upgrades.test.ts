import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createApp } from "../../src/app.ts";
import { migrate } from "../../src/database/migrate.ts";
import { postgresqlMigrations } from "../../src/database/migrations/postgresql/list.ts";
import { sqliteMigrations } from "../../src/database/migrations/sqlite/list.ts";
import { openDatabase } from "../../src/database/open.ts";
import { insertWords } from "../../src/database/postgresql/search.ts";
import { storedTime } from "../../src/database/times.ts";
import { entities } from "../../src/entities.ts";
import { hashToken } from "../../src/workspaces/tokens.ts";
import { isOnPostgresql, newPostgresqlDatabase } from "../support/server.ts";

// Every schema that there ever was is the one after some migration, so each of them is filled and brought up to date.
const migrations = (isOnPostgresql ? postgresqlMigrations : sqliteMigrations).map(({ name }) => name);

const id = (n: number) => `01900000-0000-7000-8000-${String(n).padStart(12, "0")}`;
const token = "a-token-of-an-older-version";
const moment = new Date("2025-02-03T04:05:06.789Z");
const own = { workspace_id: id(1), created_at: moment };

/** A row for every table that any schema had, parents first; of columns that a schema lacks, nothing is stored. */
const rows: [table: string, row: Record<string, unknown>][] = [
  ["workspaces", { id: id(1), name: "default", created_at: moment }],
  [
    "access_tokens",
    { ...own, id: id(2), name: "old", hash: hashToken(token), scopes: '["read","write","admin"]' },
  ],
  ["audit_entries", { ...own, id: id(3), token_name: "old", action: "createPrompt", subject: "guide" }],
  ["datasets", { ...own, id: id(4), slug: "quiz", name: "Quiz", columns: '[{"name":"q","type":"text"}]' }],
  [
    "dataset_rows",
    {
      ...own,
      id: id(5),
      dataset_id: id(4),
      values: '{"q":"Wo? \u{1F600}"}',
      ideal_output: "",
      metadata: '{"b":1,"a":1e-7}',
    },
  ],
  ["prompts", { ...own, id: id(6), slug: "guide", name: "Guide", protected_tags: "[]" }],
  [
    "prompt_versions",
    { ...own, id: id(7), prompt_id: id(6), version: "1.0.0", text: "Hi {{ name }}", variables: "[]" },
  ],
  ["prompt_tags", { ...own, id: id(8), prompt_id: id(6), label: "production", version_id: id(7) }],
  [
    "prompt_tag_moves",
    { ...own, id: id(9), prompt_id: id(6), label: "production", to: "1.0.0", token_name: "old" },
  ],
  [
    "traces",
    {
      ...own,
      id: id(10),
      name: "guide",
      start_time: moment,
      user: '{"id":"u","name":null}',
      organization: '{"id":"o","name":null}',
    },
  ],
  [
    "logs",
    {
      ...own,
      id: id(11),
      trace_id: id(10),
      type: "generation",
      prompt_slug: "guide",
      version: "1.0.0",
      input: '"hello\\nworld"',
      output: '{"z":1,"a":[1,2]}',
      user_id: "u",
      organization_id: "o",
      start_time: moment,
      cost: 0.25,
      cost_source: "REPORTED",
    },
  ],
  [
    "model_prices",
    { ...own, id: id(12), provider: "", model: "mine", valid_from: moment, input_price: 1, output_price: 2 },
  ],
  [
    "rejected_items",
    {
      ...own,
      id: id(13),
      count: 2,
      endpoint: "POST /monitor/log",
      code: "BAD_INPUT",
      reason: "No.",
      sample: "{",
    },
  ],
];

async function newDatabase() {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const server = isOnPostgresql ? await newPostgresqlDatabase("bare") : null;
  const database = await openDatabase(server?.url ?? `sqlite:${join(folder, "old.sqlite")}`, entities);
  const connection = database.orm.em.getConnection("write");
  const columnsOf = async (table: string): Promise<string[]> => {
    const found = await connection.execute<{ name: string }[]>(
      isOnPostgresql
        ? `select column_name as name from information_schema.columns where table_name = '${table}'`
        : `select name from pragma_table_info('${table}')`,
    );
    return found.map(({ name }) => name);
  };
  return {
    database,
    /** Stores what the schema has room for, and gives it. */
    insert: async (table: string, row: Record<string, unknown>) => {
      const columns = await columnsOf(table);
      const kept = Object.entries(row).filter(([name]) => columns.includes(name));
      const names = kept.map(([name]) => connection.getPlatform().quoteIdentifier(name));
      const values = kept.map(([, value]) => (value instanceof Date ? storedTime(database, value) : value));
      if (columns.length === 0) return null;
      await connection.execute(`insert into ${table} (${names}) values (${names.map(() => "?")})`, values);
      return Object.fromEntries(kept);
    },
    read: async (table: string) =>
      (await connection.execute(`select * from ${table}`)) as Record<string, unknown>[],
    async [Symbol.asyncDispose]() {
      await database.close();
      await server?.drop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

const plain = (value: unknown) =>
  value instanceof Date || typeof value === "number" ? Number(value) : value;

test.each(migrations)(
  "a database as it was after %s is brought up to date with all that is in it",
  async (name) => {
    await using old = await newDatabase();
    await old.database.orm.migrator.up({ to: name });
    const inserted = new Map<string, Record<string, unknown>>();
    for (const [table, row] of rows) {
      const kept = await old.insert(table, row);
      if (kept) inserted.set(table, kept);
    }
    expect(inserted.size).toBeGreaterThanOrEqual(8);
    // On SQLite triggers keep the words.
    const log = { id: id(11), workspace: id(1), startTime: moment, input: "hello\nworld", output: {} };
    if (isOnPostgresql) await insertWords(old.database.orm.em.getKysely() as never, "Log", [log]);
    await migrate(old.database);
    expect(await old.database.orm.schema.getUpdateSchemaSQL({ wrap: false })).toBe("");
    for (const [table, row] of inserted) {
      const [now] = await old.read(table);
      for (const [column, value] of Object.entries(row))
        expect(plain(now![column]), `${table}.${column}`).toEqual(plain(value));
    }
    await expectToServe(old.database);
  },
);

async function expectToServe(database: Awaited<ReturnType<typeof newDatabase>>["database"]): Promise<void> {
  const app = await createApp(database, { corsOrigins: [] }, false);
  const headers = { authorization: `Bearer ${token}` };
  const get = async (url: string) => (await app.inject({ url, headers })).json();
  expect((await get("/datasets/quiz")).dataset.rows[0]).toMatchObject({ values: { q: "Wo? \u{1F600}" } });
  expect((await get("/prompts/guide")).prompt).toMatchObject({ version: "1.0.0", text: "Hi {{ name }}" });
  const query =
    '{ logs(filter: { text: "world", userId: "u" }) { nodes { output cost } } usage(from: "2025-01-01", to: "2026-01-01", groupBy: MODEL) { nodes { logs cost } } }';
  const { body } = await app.inject({ method: "POST", url: "/graphql", headers, payload: { query } });
  expect(JSON.parse(body)).toEqual({
    data: {
      logs: { nodes: [{ output: { z: 1, a: [1, 2] }, cost: 0.25 }] },
      usage: { nodes: [{ logs: 1, cost: 0.25 }] },
    },
  });
}
