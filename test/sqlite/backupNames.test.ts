import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import fs, { readdir, readFile, rename, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { backUp } from "../../src/database/backup.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { openFolder, runCommand } from "../support/commandLine.ts";

let at: Awaited<ReturnType<typeof openFolder>>;
beforeEach(async () => {
  at = await openFolder();
});
afterEach(() => at.close());

const workspacesIn = (file: string) => {
  const database = new Database(file, { fileMustExist: true });
  const names = database.prepare("select name from workspaces order by name").pluck().all();
  database.close();
  return names;
};

test("of two backups to one file at once the first to end has it whole, and the other is refused", async () => {
  const { database } = await at.contextOf();
  const copyTo = database.dialect.copyTo!;
  const ofBackup = (copy: typeof copyTo) => ({ ...database, dialect: { ...database.dialect, copyTo: copy } });
  const file = at.path("monday.sqlite");
  const second = Promise.withResolvers<void>();
  const firstCopied = Promise.withResolvers<void>();
  const first = backUp(
    ofBackup(async (...to) => {
      await copyTo(...to);
      firstCopied.resolve();
      await second.promise;
    }),
    file,
    entities,
  );
  await firstCopied.promise;
  const other = backUp(
    ofBackup(async (...to) => {
      second.resolve();
      await first.catch(() => {});
      await copyTo(...to);
    }),
    file,
    entities,
  );
  expect(await Promise.allSettled([first, other])).toEqual([
    { status: "fulfilled", value: undefined },
    { status: "rejected", reason: new Error(`The file ${file} already exists; name another.`) },
  ]);
  expect(workspacesIn(file)).toEqual(["default", "other"]);
  expect((await readdir(at.folder)).toSorted()).toEqual(["data", "monday.sqlite"]);
});

test("a database that a service makes during a restore stays, and the restore says so", async () => {
  await at.gabbro("backup", "monday.sqlite");
  // Its reader waits for a writer: the restore has begun when the pipe opens, and ends after the service has started.
  execFileSync("mkfifo", [at.path("pipe.sqlite")]);
  const restored = runCommand(at.folder, ["restore", "pipe.sqlite"], { DATABASE_URL: "sqlite:new.sqlite" });
  const pipe = await fs.open(at.path("pipe.sqlite"), "w");
  const service = await openDatabase(`sqlite:${at.path("new.sqlite")}`, entities);
  await migrate(service);
  await service.orm.em
    .fork()
    .execute("insert into workspaces (id, name, created_at) values ('n', 'acknowledged', 0)");
  await pipe.writeFile(await readFile(at.path("monday.sqlite")));
  await pipe.close();
  const { code, stderr } = await restored;
  await service.close();
  const files = ["", "-wal", "-shm"].map((end) => at.path(`new.sqlite${end}`));
  expect(code).toBe(1);
  expect(stderr).toContain("Nothing was restored: a database was made there meanwhile");
  expect(stderr).toContain(
    `Stop the service, move the database away and restore again: ${files[0]}, ${files[1]} and ${files[2]}.`,
  );
  expect(workspacesIn(files[0]!)).toEqual(["acknowledged"]);
});

test("a backup and a restore work on file systems without links, such as exFAT, and replace no file there", async () => {
  const links = vi.spyOn(fs, "link").mockRejectedValue(Object.assign(new Error("EPERM"), { code: "EPERM" }));
  syncBuiltinESMExports();
  try {
    expect(await at.gabbro("backup", "monday.sqlite")).toMatchObject({ code: 0 });
    const to = { DATABASE_URL: "sqlite:new.sqlite" };
    expect(await runCommand(at.folder, ["restore", "monday.sqlite"], to)).toMatchObject({ code: 0 });
    expect(workspacesIn(at.path("new.sqlite"))).toEqual(["default", "other"]);
    const { database } = await at.contextOf();
    const copyTo: typeof database.dialect.copyTo = async (...target) => {
      await database.dialect.copyTo!(...target);
      await writeFile(at.path("tuesday.sqlite"), "of another program");
    };
    const taking = { ...database, dialect: { ...database.dialect, copyTo } };
    await expect(backUp(taking, at.path("tuesday.sqlite"), entities)).rejects.toThrow("already exists");
    expect(await readFile(at.path("tuesday.sqlite"), "utf8")).toBe("of another program");
    expect(links).toHaveBeenCalledTimes(3);
  } finally {
    links.mockRestore();
    syncBuiltinESMExports();
  }
});

test("what a backup or a restore that was killed has left is removed by the next one, that of a running one stays", async () => {
  await at.gabbro("backup", "monday.sqlite");
  const killed = spawn(process.execPath, ["--eval", ""]);
  await once(killed, "exit");
  const part = (pid: number | undefined) => `new.sqlite.${pid}-${crypto.randomUUID()}.partial`;
  const [left, underway] = [part(killed.pid), part(process.ppid)];
  for (const name of [left, `${left}-wal`, underway]) await writeFile(at.path(name), "");
  const to = { DATABASE_URL: "sqlite:new.sqlite" };
  expect(await runCommand(at.folder, ["restore", "monday.sqlite"], to)).toMatchObject({ code: 0 });
  expect((await readdir(at.folder)).toSorted()).toEqual(
    ["data", "monday.sqlite", "new.sqlite", underway].toSorted(),
  );
  await rename(at.path(underway), at.path(left.replace("new", "tuesday")));
  expect(await at.gabbro("backup", "tuesday.sqlite")).toMatchObject({ code: 0 });
  expect((await readdir(at.folder)).toSorted()).toEqual(
    ["data", "monday.sqlite", "new.sqlite", "tuesday.sqlite"].toSorted(),
  );
});
