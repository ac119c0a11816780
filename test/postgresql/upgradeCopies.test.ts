import { tmpdir } from "node:os";
import { v7 as uuidv7 } from "uuid";
import { afterEach, beforeEach, expect, test } from "vitest";
import { restore } from "../../src/database/backup.ts";
import { bringUpToDate, migrateWithBackup } from "../../src/database/migrate.ts";
import { postgresqlMigrations } from "../../src/database/migrations/postgresql/list.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { execute } from "../support/postgresSetup.ts";
import { gabbro } from "../support/program.ts";
import { newPostgresqlDatabase } from "../support/server.ts";

const names = postgresqlMigrations.map(({ name }) => name);
const copyBefore = (count: number) => `before_${names.at(-count)!.toLowerCase()}`;

let own: Awaited<ReturnType<typeof newPostgresqlDatabase>>;
beforeEach(async () => {
  own = await newPostgresqlDatabase("bare");
});
afterEach(() => own.drop());

const run = (statement: string) => execute(own.url, statement);
const open = () => openDatabase(own.url, entities, { poolSize: 2 });
const program = (args: string[], url = own.url) =>
  gabbro(tmpdir(), args, { DATABASE_URL: url, DATABASE_POOL_SIZE: "2" });
const copies = async () =>
  (await run("select nspname from pg_namespace where nspname ~ '^before_' order by 1")).map(
    ({ nspname }) => nspname,
  );
const lastMigration = async (schema = "public") =>
  (await run(`select max(name) as last from ${schema}.mikro_orm_migrations`))[0].last;

/** A database with data as it was `count` migrations ago. */
async function makeOld(count: number, url = own.url): Promise<void> {
  const database = await openDatabase(url, entities);
  await database.orm.migrator.up({ to: names.at(-count - 1)! });
  await database.close();
  await execute(
    url,
    `insert into workspaces (id, name, created_at) values ('${uuidv7()}', 'kept', now());
     insert into access_tokens (id, workspace_id, name, hash, scopes, created_at)
     select '${uuidv7()}', id, 'of it', 'h', '["read"]', now() from workspaces`,
  );
}

test("a command that migrates a database with data first copies all of its tables, and says where", async () => {
  await makeOld(2);
  const { code, stderr } = await program(["workspace", "list"]);
  expect(code).toBe(0);
  const copy = copyBefore(2);
  expect(stderr).toContain(`before that copied it to ${copy}.`);
  expect(await copies()).toEqual([copy]);
  expect([await lastMigration(copy), await lastMigration()]).toEqual([names.at(-3), names.at(-1)]);
  expect(await run(`select name from ${copy}.workspaces`)).toEqual([{ name: "kept" }]);
  expect((await program(["workspace", "list"])).stderr).toBe("");
});

test("a new database and one that lacks nothing are not copied", async () => {
  const database = await open();
  expect(await bringUpToDate(database, { migrateOnStart: true })).toBeNull();
  expect(await bringUpToDate(database, { migrateOnStart: true })).toBeNull();
  await database.close();
  expect(await copies()).toEqual([]);
});

test("the newest two copies are kept, and schemas of others", async () => {
  await makeOld(1);
  const old = ["before_migration20200101000000_a", "before_migration20210101000000_b", "before_lunch"];
  for (const name of old) await run(`create schema "${name}"; create table "${name}".t (n int)`);
  const database = await open();
  const { backup } = await migrateWithBackup(database);
  await database.close();
  expect(await copies()).toEqual([old[1], backup, old[2]].toSorted());
});

test("of several programs that upgrade at once one copies the database as it was, once", async () => {
  await makeOld(2);
  const programs = await Promise.all([open(), open(), open()]);
  const done = await Promise.all(programs.map(migrateWithBackup));
  await Promise.all(programs.map((database) => database.close()));
  const copy = copyBefore(2);
  expect(done.flatMap(({ backup }) => backup ?? [])).toEqual([copy]);
  expect(await lastMigration(copy)).toBe(names.at(-3));
});

test("nothing is migrated when the copy cannot be made, unless the caller wants none", async () => {
  const role = `r${uuidv7().replaceAll("-", "")}`;
  await run(`create role ${role} login; grant all on schema public to ${role}`);
  const url = new URL(own.url);
  url.username = role;
  try {
    await makeOld(1, url.href);
    const failed = await program(["migrate"], url.href);
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("Nothing was migrated") });
    expect(failed.stderr).toContain("permission denied for database");
    expect(failed.stderr).toContain("gabbro migrate --no-backup");
    expect(await lastMigration()).toBe(names.at(-2));
    expect(await program(["migrate", "--no-backup"], url.href)).toMatchObject({ code: 0 });
    expect([await lastMigration(), await copies()]).toEqual([names.at(-1), []]);
  } finally {
    await run(`drop owned by ${role}; drop role ${role}`);
  }
});

test("a copy restores to a database with all that it had, once the newer one is moved away", async () => {
  await makeOld(2);
  const database = await open();
  const { backup } = await migrateWithBackup(database);
  await database.close();
  await run("insert into workspaces (id, name, created_at) values (gen_random_uuid(), 'later', now())");
  const refused = await program(["restore", backup!]);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining("There is a database already") });
  await run("alter schema public rename to newer; create schema public");
  expect(await program(["restore", backup!])).toMatchObject({ code: 0 });
  expect(await lastMigration()).toBe(names.at(-3));
  const found =
    "select t.name as token, w.name from access_tokens t join workspaces w on w.id = workspace_id";
  expect(await run(found)).toEqual([{ token: "of it", name: "kept" }]);
  expect(await run("select name from newer.workspaces order by 1")).toHaveLength(2);
});

test("a copy that there is not is refused by its name, and nothing is made", async () => {
  await expect(restore("before_migration1", own.url, entities)).rejects.toThrow(
    "There is no copy before_migration1. There are these: none.",
  );
  await expect(restore("backup.sqlite", own.url, entities)).rejects.toThrow("pg_restore");
  expect(await run("select 1 from pg_class where relnamespace = 'public'::regnamespace")).toEqual([]);
});
