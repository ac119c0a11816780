import { existsSync, readFileSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test, vi } from "vitest";
import { takeBackups } from "../../faults/backups.ts";
import { migrate } from "../../src/database/migrate.ts";
import { type Database as Gabbro, openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { openFolder, runCommand } from "../support/commandLine.ts";
import { flushesOf } from "../support/flushes.ts";
import { gabbro } from "../support/program.ts";

// The long form: npm run faults -- backups
const TIMEOUT_MS = 120_000;

test(
  "backups under 64 writers restore to all that was acknowledged before each began, where copies of the file do not",
  async () => {
    const { acknowledged, slowestBackupMs, missingInCopies, ...found } = await takeBackups({
      backups: 2,
      everyMs: 500,
    });
    expect(found).toEqual({ backups: 2, lost: [], doubled: [], faults: [] });
    expect(acknowledged).toBeGreaterThan(0);
    expect(missingInCopies).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

/** A new database that another connection writes to as well, with a table to fill. */
async function openTwice() {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const file = join(folder, "gabbro.sqlite");
  const database = await openDatabase(`sqlite:${file}`, entities);
  await migrate(database);
  const other = new Database(file);
  other.exec("create table ballast (content blob)");
  return { folder, file, database, other };
}

test(
  "a backup comes to its end although another process never stops writing",
  async () => {
    const { folder, database, other } = await openTwice();
    const insert = other.prepare("insert into ballast values (zeroblob(4000))");
    other.transaction(() => {
      for (let n = 0; n < 2_000; n++) insert.run();
    })();
    const write = other.prepare("update ballast set content = randomblob(4000) where rowid = 1");
    let isDone = false;
    const backup = database.dialect.copyTo!(database.orm, join(folder, "backup.sqlite")).finally(() => {
      isDone = true;
    });
    // It takes 100 pages at a time of some 2,100, and the next ones in the next turn.
    const givenUpAt = performance.now() + TIMEOUT_MS / 2;
    while (!isDone && performance.now() < givenUpAt) {
      write.run();
      await new Promise(setImmediate);
    }
    expect(isDone).toBe(true);
    await backup;
    other.close();
    await database.close();
    await rm(folder, { recursive: true });
  },
  TIMEOUT_MS,
);

type Read = (database: Gabbro, target: string, write: () => void) => Promise<void>;

const reads: [name: string, read: Read][] = [
  [
    "a backup",
    async ({ dialect, orm }, target, write) => {
      const backup = dialect.copyTo!(orm, target);
      await new Promise(setImmediate);
      write();
      await backup;
    },
  ],
  [
    "a copy to another database",
    ({ dialect, orm }, _, write) => dialect.copier.read(orm, async () => write()),
  ],
];

test.each(reads)(
  "%s copies what was written meanwhile from the write-ahead log, so that the next commit of a server need not",
  async (_, read) => {
    const { folder, file, database, other } = await openTwice();
    let written = 0;
    await read(database, join(folder, "backup.sqlite"), () => {
      other.exec("insert into ballast values (zeroblob(20000000))");
      written = pagesToCopy(file);
    });
    expect(written).toBeGreaterThan(4_000);
    expect(pagesToCopy(file)).toBe(0);
    other.close();
    await database.close();
    await rm(folder, { recursive: true });
  },
);

test("the snapshot of a backup ends while nobody commits, so that no commit copies the log before the backup does", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const database = await openDatabase(`sqlite:${join(folder, "gabbro.sqlite")}`, entities);
  await migrate(database);
  const exec = vi.spyOn(Database.prototype, "exec");
  await database.dialect.copyTo!(database.orm, join(folder, "backup.sqlite"));
  const statements = exec.mock.calls.map(([sql]) => sql);
  exec.mockRestore();
  expect(statements).toEqual(["begin", "begin immediate", "commit", "rollback"]);
  await database.close();
  await rm(folder, { recursive: true });
});

/** The pages in the write-ahead log that are not in the file yet: https://sqlite.org/walformat.html */
function pagesToCopy(file: string): number {
  const index = readFileSync(`${file}-shm`);
  return index.readUInt32LE(16) - index.readUInt32LE(96);
}

/** A backup, and the files that a service left when it was killed after it had made the workspace "later". */
async function leaveLog() {
  const at = await openFolder();
  await at.gabbro("backup", "monday.sqlite");
  const [used, killed] = [at.path("used.sqlite"), at.path("killed/gabbro.sqlite")];
  await copyFile(at.path("monday.sqlite"), used);
  await mkdir(at.path("killed"));
  const service = new Database(used);
  service.exec("insert into workspaces (id, name, created_at) values ('l', 'later', 0)");
  for (const end of ["", "-wal"]) await copyFile(`${used}${end}`, `${killed}${end}`);
  service.close();
  return {
    killed,
    run: (...args: string[]) => gabbro(at.folder, args, { DATABASE_URL: `sqlite:${killed}` }),
    [Symbol.asyncDispose]: at.close,
  };
}

const workspacesIn = (file: string) => {
  const database = new Database(file);
  const names = database.prepare("select name from workspaces order by name").pluck().all();
  database.close();
  return names;
};

test.each([
  ["restored", (_: string) => ["restore", "monday.sqlite"]],
  ["copied", (file: string) => ["copy", "--from", "sqlite:monday.sqlite", "--to", `sqlite:${file}`]],
])("a %s database has nothing of the log of an earlier one", async (_, command) => {
  await using left = await leaveLog();
  await rm(left.killed);
  const refused = await left.run(...command(left.killed));
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`${left.killed}-wal. Move it`) });
  expect(existsSync(left.killed)).toBe(false);
  await rm(`${left.killed}-wal`);
  expect(await left.run(...command(left.killed))).toMatchObject({ code: 0 });
  expect(workspacesIn(left.killed)).toEqual(["default", "other"]);
});

test.each([
  ["backup", ["backup", "new.sqlite"]],
  ["restore", ["restore", "monday.sqlite"]],
  ["copy", ["copy", "--from", "sqlite:monday.sqlite", "--to", "sqlite:new.sqlite"]],
])("a power cut after a %s loses neither its file nor the name of it", async (command, args) => {
  const at = await openFolder();
  await at.gabbro("backup", "monday.sqlite");
  const env = { DATABASE_URL: `sqlite:${command === "restore" ? "new" : "data/gabbro"}.sqlite` };
  const run = async () => expect(await runCommand(at.folder, args, env)).toMatchObject({ code: 0 });
  expect(await flushesOf(at.path("new.sqlite"), run)).toEqual({ file: true, folder: true });
  await at.close();
});

test("a file is not restored without the changes in its log: a backup of it has both", async () => {
  await using left = await leaveLog();
  const to = { DATABASE_URL: "sqlite:restored/gabbro.sqlite" };
  const folder = join(left.killed, "../..");
  const refused = await gabbro(folder, ["restore", left.killed], to);
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`DATABASE_URL=sqlite:${left.killed} gabbro backup`),
  });
  expect(await left.run("backup", "whole.sqlite")).toMatchObject({ code: 0 });
  expect(await gabbro(folder, ["restore", "whole.sqlite"], to)).toMatchObject({ code: 0 });
  expect(workspacesIn(join(folder, "restored/gabbro.sqlite"))).toEqual(["default", "later", "other"]);
});

test("who is told to move a database away is told of all its files", async () => {
  await using left = await leaveLog();
  const { stderr } = await left.run("restore", "monday.sqlite");
  const [, files] = /move it away first: (.*)\.\n$/.exec(stderr)!;
  expect(files).toBe(`${left.killed}, ${left.killed}-wal and ${left.killed}-shm`);
});
