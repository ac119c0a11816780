import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Migration } from "@mikro-orm/migrations";
import Database from "better-sqlite3";
import { v7 as uuidv7 } from "uuid";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startPackage } from "../../packaging/mainJob.ts";
import { bringUpToDate, migrate, migrateWithBackup } from "../../src/database/migrate.ts";
import { sqliteMigrations } from "../../src/database/migrations/sqlite/list.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { createWorkspace } from "../../src/workspaces/resolvers.ts";
import { flushesOf } from "../support/flushes.ts";
import { gabbro, program } from "../support/program.ts";

const names = sqliteMigrations.map(({ name }) => name);
const TIMEOUT_MS = 120_000;
const lacking = (count: number) => names.at(-count)!;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gabbro-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const file = () => join(folder, "data/gabbro.sqlite");
const open = () => openDatabase(`sqlite:${file()}`, entities);
const backups = async () =>
  (await readdir(join(folder, "data"))).filter((name) => name.includes(".before-")).toSorted();

/** A database with data as it was `count` migrations ago. */
async function makeOld(count: number): Promise<void> {
  const database = await open();
  await database.orm.migrator.up({ to: names.at(-count - 1)! });
  await database.orm.em
    .getConnection("write")
    .execute("insert into workspaces (id, name, created_at) values ('w', 'kept', 0)");
  await database.close();
}

/** What a file has of workspaces and of migrations. */
function read(path: string) {
  const database = new Database(path, { readonly: true });
  const column = (statement: string) => database.prepare(statement).pluck().all();
  const found = {
    workspaces: column("select name from workspaces where name = 'kept'"),
    last: column("select name from mikro_orm_migrations order by name").at(-1),
  };
  database.close();
  return found;
}

test("a start that migrates a database with data first copies it, unchanged and for its user only, and says so", {
  timeout: TIMEOUT_MS,
}, async () => {
  await makeOld(2);
  const token = "a token that the test makes";
  const service = await startPackage(process.execPath, program, { folder, token });
  expect(await service.stop()).toBe(0);
  const name = `gabbro.sqlite.before-${lacking(2)}`;
  expect(await backups()).toEqual([name]);
  const backup = join(folder, "data", name);
  expect((await stat(backup)).mode & 0o777).toBe(0o600);
  expect(read(backup)).toEqual({ workspaces: ["kept"], last: names.at(-3) });
  expect(read(file())).toEqual({ workspaces: ["kept"], last: names.at(-1) });
  expect(service.log()).toContain(`"backup":"${backup}","msg":"copied the database there`);
  const again = await startPackage(process.execPath, program, { folder, token });
  await again.stop();
  expect(again.log()).not.toContain("copied the database");
});

test("a new database and one that lacks nothing are not copied", async () => {
  const database = await open();
  expect(await bringUpToDate(database, { migrateOnStart: true })).toBeNull();
  expect(await bringUpToDate(database, { migrateOnStart: true })).toBeNull();
  await database.close();
  expect(await backups()).toEqual([]);
});

test("the last two copies are kept, parts that a killed process left are removed, other files stay", async () => {
  await makeOld(1);
  const [abandoned, underway] = [1, 2].map(
    (n) => `gabbro.sqlite.before-Migration20210101000000_b.${uuidv7({ seq: n })}.partial`,
  );
  for (const name of [abandoned!, underway!]) await writeFile(join(folder, "data", name), "");
  await utimes(join(folder, "data", abandoned!), 1, 1);
  const old = ["Migration20200101000000_a", "Migration20210101000000_b"].map(
    (name) => `gabbro.sqlite.before-${name}`,
  );
  for (const name of [...old, "gabbro.sqlite.before-lunch"]) await writeFile(join(folder, "data", name), "");
  const database = await open();
  await migrateWithBackup(database);
  await database.close();
  const made = `gabbro.sqlite.before-${lacking(1)}`;
  expect(await backups()).toEqual([old[1], made, underway, "gabbro.sqlite.before-lunch"].toSorted());
});

test("what killed starts left of their copies is removed before the next copy, with the files beside it", async () => {
  await makeOld(1);
  const killed = spawn(process.execPath, ["--eval", ""]);
  await once(killed, "exit");
  const part = (pid: number | undefined, seq: number) =>
    `gabbro.sqlite.before-${lacking(1)}.${pid}-${uuidv7({ seq })}.partial`;
  const left = part(killed.pid, 1);
  const ofSameId = part(process.pid, 2); // as in a container, where each start has the id 1
  const underway = [part(process.pid, 3), part(process.ppid, 4)];
  const journalAlone = `${part(process.ppid, 5)}-journal`;
  for (const name of [left, `${left}-journal`, ofSameId, journalAlone, ...underway])
    await writeFile(join(folder, "data", name), "");
  await utimes(join(folder, "data", ofSameId), 1, performance.timeOrigin / 1_000 - 1);
  await utimes(join(folder, "data", journalAlone), 1, 1);
  const database = await open();
  const { copyTo } = database.dialect;
  let found: string[] = [];
  const dialect = {
    ...database.dialect,
    copyTo: async (...args: Parameters<NonNullable<typeof copyTo>>) => {
      found = await backups();
      await copyTo!(...args);
    },
  };
  await migrateWithBackup({ ...database, dialect });
  await database.close();
  expect(found).toHaveLength(underway.length + 1); // and the copy that is being made
  expect(found).toEqual(expect.arrayContaining(underway));
});

test("a power cut after an upgrade loses neither the copy that was made before it nor the name of that", async () => {
  await makeOld(1);
  const path = `${file()}.before-${lacking(1)}`;
  const database = await open();
  const flushed = await flushesOf(path, () => migrateWithBackup(database));
  await database.close();
  expect(flushed).toEqual({ file: true, folder: true });
});

const ORPHAN =
  "insert into dataset_tags (id, workspace_id, dataset_id, label, version, created_at) values ('t', 'w', 'gone', 'l', 1, 0)";

test("a migration that leaves rows without their parents is rolled back, and refused by the next start too", async () => {
  await makeOld(2);
  const migration: typeof Migration = sqliteMigrations.at(-2)!.class;
  const up = vi.spyOn(migration.prototype, "up").mockImplementation(function (this: Migration) {
    this.addSql(ORPHAN);
  });
  const database = await open();
  for (let start = 0; start < 2; start++)
    await expect(migrate(database)).rejects.toThrow("leaves rows without their parents (1), such as ");
  up.mockRestore();
  await database.close();
  expect(read(file())).toEqual({ workspaces: ["kept"], last: names.at(-3) });
});

test("rows that had no parent before it keep no upgrade from happening, and are a warning", async () => {
  await makeOld(2);
  const database = await open();
  const write = database.orm.em.getConnection("write");
  for (const statement of ["pragma foreign_keys = off", ORPHAN]) await write.execute(statement);
  const warned = once(process, "warning");
  expect(await migrate(database)).toEqual(names.slice(-2));
  await database.close();
  expect((await warned)[0].message).toContain(
    "Rows of the database had no parents before it was migrated (1)",
  );
});

test("older copies that cannot be removed are a warning, and the database is migrated", async () => {
  await makeOld(1);
  for (const year of [2020, 2021, 2022])
    await mkdir(join(folder, `data/gabbro.sqlite.before-Migration${year}0101000000_a`));
  const warned = once(process, "warning");
  const database = await open();
  const { applied } = await migrateWithBackup(database);
  await database.close();
  expect(applied).toEqual([lacking(1)]);
  expect((await warned)[0].message).toContain("Older copies of the database cannot be removed: ");
});

test("a migration that fails is tried again, and the database is copied once", async () => {
  await makeOld(1);
  const database = await open();
  const copyTo = vi.fn(database.dialect.copyTo!);
  const up = vi.spyOn(database.orm.migrator, "up").mockRejectedValue(new Error("It fails."));
  const migrating = migrateWithBackup({ ...database, dialect: { ...database.dialect, copyTo } });
  await expect(migrating).rejects.toThrow("It fails.");
  await database.close();
  expect([up.mock.calls.length, copyTo.mock.calls.length]).toEqual([4, 1]);
  expect(await backups()).toEqual([`gabbro.sqlite.before-${lacking(1)}`]);
});

test("nothing is migrated when the copy cannot be made, unless the caller wants none", async () => {
  await makeOld(1);
  const target = `${file()}.before-${lacking(1)}`;
  await mkdir(join(target, "in the way"), { recursive: true });
  const failed = await gabbro(folder, ["migrate"]);
  expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining("Nothing was migrated") });
  expect(failed.stderr).toContain("gabbro migrate --no-backup");
  expect(read(file()).last).toBe(names.at(-2));
  expect((await readdir(join(folder, "data"))).filter((name) => name.includes("partial"))).toEqual([]);
  expect(await gabbro(folder, ["migrate", "--no-backup"])).toMatchObject({ code: 0 });
  expect(read(file()).last).toBe(names.at(-1));
});

test("two processes that migrate at once leave a copy of the database as it was", async () => {
  await makeOld(2);
  const [one, other] = await Promise.all([open(), open()]);
  await Promise.all([migrateWithBackup(one), migrateWithBackup(other)]);
  await Promise.all([one.close(), other.close()]);
  expect(await backups()).toEqual([`gabbro.sqlite.before-${lacking(2)}`]);
  expect(read(join(folder, "data", (await backups())[0]!)).last).toBe(names.at(-3));
  expect(read(file()).last).toBe(names.at(-1));
});

test("a process that copies only after another has migrated does not replace the copy that the other made", async () => {
  await makeOld(2);
  const [first, late] = await Promise.all([open(), open()]);
  const { copyTo } = late.dialect;
  const dialect = {
    ...late.dialect,
    copyTo: async (...args: Parameters<NonNullable<typeof copyTo>>) => {
      await migrateWithBackup(first);
      await copyTo!(...args);
    },
  };
  expect(await migrateWithBackup({ ...late, dialect })).toEqual({ applied: [], backup: null });
  await Promise.all([first.close(), late.close()]);
  expect((await backups()).length).toBe(1);
  expect(read(join(folder, "data", (await backups())[0]!)).last).toBe(names.at(-3));
});

test("a copy that was made before an upgrade restores to a database with all that it had", async () => {
  await makeOld(2);
  const database = await open();
  await migrateWithBackup(database);
  await createWorkspace(database, "later");
  await database.close();
  const [backup] = await backups();
  const restored = await gabbro(folder, ["restore", join("data", backup!)], {
    DATABASE_URL: "sqlite:restored/gabbro.sqlite",
  });
  expect(restored).toMatchObject({ code: 0 });
  expect(read(join(folder, "restored/gabbro.sqlite")).workspaces).toEqual(["kept"]);
});

test("commands that migrate say where the copy is", async () => {
  await makeOld(1);
  const { code, stderr } = await gabbro(folder, ["workspace", "list"]);
  expect(code).toBe(0);
  expect(stderr).toContain(`gabbro.sqlite.before-${lacking(1)}`);
  const database = await open();
  expect(await migrate(database)).toEqual([]);
  await database.close();
});
