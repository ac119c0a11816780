import { copyFile, mkdtemp, open, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startGateway } from "../../faults/gateway.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { seedDatabase } from "../../src/sample/seed.ts";
import { gabbro } from "../support/program.ts";

let folder: string;
let whole: string;
/** What a start takes that is not stopped: the machine may be busy. */
let startMs: number;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  whole = join(folder, "whole.sqlite");
  const database = await openDatabase(`sqlite:${whole}`, entities);
  await migrate(database);
  await seedDatabase(database, { firstToken: null, sample: "with sample" });
  await database.close();
  const gateway = await startGateway({ databaseUrl: `sqlite:${whole}` });
  await gateway.stop();
  startMs = gateway.readyMs;
});
afterAll(() => rm(folder, { recursive: true }));

/** Works on a database by hand, as another program would. */
function by(file: string, work: (database: Database.Database) => unknown): void {
  const database = new Database(file);
  try {
    work(database);
  } finally {
    database.close();
  }
}

/** Overwrites the page on which a table or an index begins. */
async function blot(file: string, name: string): Promise<void> {
  let page = 0;
  let size = 0;
  by(file, (database) => {
    page = database.prepare("select rootpage from sqlite_master where name = ?").pluck().get(name) as number;
    size = database.pragma("page_size", { simple: true }) as number;
  });
  const handle = await open(file, "r+");
  await handle.write(Buffer.alloc(size, 0xaa), 0, size, (page - 1) * size);
  await handle.close();
}

const newer =
  "insert into mikro_orm_migrations (name, executed_at) values ('Migration29991231235959_future', 0)";

const MAX_MS = 3_000;

test.each<[string, RegExp, (file: string) => void | Promise<void>]>([
  [
    "that is no database",
    /not a database/,
    (file) => writeFile(file, "This is a shopping list. ".repeat(400)),
  ],
  [
    "of another program",
    /a database, but not one of Gabbro/,
    async (file) => {
      await rm(file);
      by(file, (database) => database.exec("create table recipes (name text)"));
    },
  ],
  ["of a newer Gabbro", /made by a newer Gabbro/, (file) => by(file, (database) => database.exec(newer))],
  ["that was cut off", /It is damaged/, async (file) => truncate(file, (await stat(file)).size / 2)],
  ["with a damaged table", /It is damaged/, (file) => blot(file, "dataset_rows")],
  ["with a damaged index", /It is damaged/, (file) => blot(file, "logs_by_time")],
])(
  "a file %s stops the start within 3 s, in one line that names it, and keeps its bytes",
  async (_, message, spoil) => {
    const file = join(folder, "spoilt.sqlite");
    await copyFile(whole, file);
    await spoil(file);
    const before = await readFile(file);
    const settings = { DATABASE_URL: `sqlite:${file}`, PORT: "0", HOST: "127.0.0.1" };
    const begun = performance.now();
    const { code, stdout, stderr } = await gabbro(folder, ["serve"], settings);
    const tookMs = performance.now() - begun;
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^gabbro: Cannot open the database .*spoilt\.sqlite: .*\n$/);
    expect(stderr).toMatch(message);
    expect(tookMs).toBeLessThan(MAX_MS + startMs);
    expect(Buffer.compare(await readFile(file), before)).toBe(0);
  },
);

test("a file with changes that are still in its log beside it keeps both when a newer Gabbro made it", async () => {
  const file = join(folder, "crashed.sqlite");
  await copyFile(whole, join(folder, "open.sqlite"));
  // Copied while it is open, the change stands in the log alone, as after a crash.
  const database = new Database(join(folder, "open.sqlite"));
  database.exec(newer);
  for (const end of ["", "-wal"]) await copyFile(join(folder, `open.sqlite${end}`), file + end);
  database.close();
  const read = () => Promise.all(["", "-wal"].map((end) => readFile(file + end, "base64")));
  const before = await read();
  expect(before[1]!.length).toBeGreaterThan(0);
  await expect(openDatabase(`sqlite:${file}`, entities)).rejects.toThrow("made by a newer Gabbro");
  expect(await read()).toEqual(before);
});

test("no new database is made beside the log of an earlier one, which stays as it is", async () => {
  const file = join(folder, "moved.sqlite");
  const killed = new Database(join(folder, "killed.sqlite"));
  killed.exec("pragma journal_mode = wal; create table acknowledged (id)");
  await copyFile(join(folder, "killed.sqlite-wal"), `${file}-wal`);
  killed.close();
  const before = await readFile(`${file}-wal`, "base64");
  expect(before.length).toBeGreaterThan(0);
  await expect(openDatabase(`sqlite:${file}`, entities)).rejects.toThrow(
    `The log of an earlier database is there: ${file}-wal.`,
  );
  expect(await readFile(`${file}-wal`, "base64")).toBe(before);
});

test.each([
  ["synchronous = full", "synchronous = normal", "synchronous=1"],
  ["journal_mode = wal", "journal_mode = delete", "journal_mode=delete"],
])("a connection on which %s does not hold is not used", async (wanted, given, message) => {
  const file = join(folder, `${message}.sqlite`);
  const { prepare } = Database.prototype;
  const driver = vi.spyOn(Database.prototype, "prepare").mockImplementation(function (
    this: Database.Database,
    statement: string,
  ) {
    return prepare.call(this, statement.replace(wanted, given)) as never;
  });
  try {
    await expect(openDatabase(`sqlite:${file}`, entities)).rejects.toThrow(message);
  } finally {
    driver.mockRestore();
  }
});
