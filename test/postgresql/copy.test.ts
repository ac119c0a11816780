import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import Database from "better-sqlite3";
import pg from "pg";
import { expect, test, vi } from "vitest";
import type { Snapshot } from "../../src/database/copy/copier.ts";
import { copyDatabase } from "../../src/database/copy/copyDatabase.ts";
import { openDatabase } from "../../src/database/open.ts";
import { tablesOf } from "../../src/database/tables.ts";
import { entities } from "../../src/entities.ts";
import { runCommand } from "../support/commandLine.ts";
import { answersOf, dump, fillWithOddValues } from "../support/copies.ts";
import { addLogs } from "../support/logs.ts";
import { execute } from "../support/postgresSetup.ts";
import { program } from "../support/program.ts";
import { newPostgresqlDatabase, type Server, startServer } from "../support/server.ts";

// What is copied to a server; test/copy.test.ts has what is copied to a file.

async function newTarget(schema: "migrated" | "bare" = "bare") {
  const { url, drop } = await newPostgresqlDatabase(schema);
  return { url, [Symbol.asyncDispose]: drop };
}

const copy = ({ folder }: Server, from: string, to: string) =>
  runCommand(folder, ["copy", "--from", from, "--to", to]);

const GIN_OPTIONS =
  "select relname, reloptions from pg_class where cast(reloptions as text) like '%fastupdate%' order by relname";

const refused = (message: string) => ({ code: 1, stdout: "", stderr: expect.stringContaining(message) });

test("from a server to a file, to another server and on to a third nothing changes, and the service answers the same", async () => {
  await using server = await startServer();
  await using second = await newTarget();
  await using third = await newTarget("migrated");
  const { otherToken } = await fillWithOddValues(server);
  const rows = await dump(server.databaseUrl);
  expect(Object.entries(rows).filter(([, { length }]) => length === 0)).toEqual([]);
  const answers = await answersOf(server.databaseUrl, server.token);
  const file = `sqlite:${join(server.folder, "copy.sqlite")}`;
  const places = [server.databaseUrl, file, second.url, third.url];
  for (const [at, to] of places.slice(1).entries()) {
    expect(await copy(server, places[at]!, to)).toMatchObject({ code: 0 });
    expect(await dump(to)).toEqual(rows);
    expect(await answersOf(to, server.token)).toEqual(answers);
  }
  expect(await answersOf(third.url, otherToken)).toEqual(await answersOf(server.databaseUrl, otherToken));
  const words = "select * from log_texts order by log_id";
  expect(await execute(third.url, words)).toEqual(await execute(server.databaseUrl, words));
}, 120_000);

test("a copy notifies no gateway of its logs and leaves the target with its statistics", async () => {
  await using server = await startServer();
  await using target = await newTarget("migrated");
  await addLogs(server, 20, () => ({}));
  const listener = new pg.Client({ connectionString: target.url });
  await listener.connect();
  const heard: unknown[] = [];
  listener.on("notification", (message) => heard.push(message));
  await listener.query("listen gabbro_logs");
  expect(await copy(server, server.databaseUrl, target.url)).toMatchObject({ code: 0 });
  await listener.query("select 1"); // earlier notifications arrive before the answer
  await listener.end();
  expect(heard).toEqual([]);
  const [row] = await execute(target.url, "select reltuples from pg_class where relname = 'logs'");
  expect(row).toEqual({ reltuples: 20 });
});

test("a copy leaves nothing aside for the next log to bring into the indexes of words and metadata", async () => {
  await using server = await startServer();
  await using target = await newTarget("migrated");
  await addLogs(server, 20, () => ({ metadata: { a: 1 } }));
  const before = await execute(target.url, GIN_OPTIONS);
  expect(await copy(server, server.databaseUrl, target.url)).toMatchObject({ code: 0 });
  expect(before).toHaveLength(2);
  expect(await execute(target.url, GIN_OPTIONS)).toEqual(before);
  const left =
    "select sum(gin_clean_pending_list(indexrelid)) as pages from pg_index join pg_class on oid = indexrelid where reloptions is not null";
  expect(await execute(target.url, left)).toEqual([{ pages: "0" }]);
});

test("a target that is not empty, or in use, or the source itself is refused", async () => {
  await using server = await startServer();
  await using target = await newTarget("migrated");
  await addLogs(server, 1, () => ({}));
  const user = new pg.Client({ connectionString: target.url });
  await user.connect();
  await user.query("begin");
  await user.query("select count(*) from logs");
  expect(await copy(server, server.databaseUrl, target.url)).toEqual(
    refused("The target is in use by another program. Stop it, then copy again."),
  );
  await user.query("rollback");
  await user.query("insert into workspaces values (gen_random_uuid(), 'w', now())");
  await user.end();
  expect(await copy(server, server.databaseUrl, target.url)).toEqual(
    refused("is not empty: there are rows in workspaces."),
  );
  expect((await dump(target.url)).logs).toEqual([]);
  expect(await copy(server, target.url, target.url)).toEqual(refused("are the same database"));
});

/** A file with three logs, changed as no API lets it be changed. */
async function damagedFile(server: Server, change: string): Promise<string> {
  const path = join(server.folder, "damaged.sqlite");
  expect(await copy(server, server.databaseUrl, `sqlite:${path}`)).toMatchObject({ code: 0 });
  const file = new Database(path);
  file.pragma("foreign_keys = off");
  file.exec(change);
  file.close();
  return `sqlite:${path}`;
}

const middle = "(select id from logs order by id limit 1 offset 1)";

test.each([
  ["a NUL in a text", `update logs set model = 'a' || char(0) where id = ${middle}`, '"model" of', "NUL"],
  [
    "a NUL in JSON",
    `update logs set metadata = '{"a":["\\\\\\u0000"]}' where id = ${middle}`,
    '"metadata" of',
    "NUL",
  ],
  [
    "a child without its parent",
    `delete from traces where id = (select trace_id from logs where id = ${middle})`,
    "The target refuses",
    "foreign key",
  ],
  [
    "a number that is too large",
    `update logs set input_tokens = 3000000000 where id = ${middle}`,
    "The target refuses",
    "out of range",
  ],
])(
  "%s is refused with its table and id, and nothing stays in the target",
  async (_, change, message, why) => {
    await using server = await startServer();
    await using target = await newTarget();
    const { ids } = await addLogs(server, 3, () => ({ output: "\\u0000 stays" }));
    const damaged = await damagedFile(server, change);
    const { code, stderr } = await copy(server, damaged, target.url);
    expect(code).toBe(1);
    expect(stderr).toContain(`${message} the row ${ids[1]} of the table logs`);
    expect(stderr).toContain(why);
    expect(stderr).not.toContain("3000000000");
    const rows = await dump(target.url);
    expect(Object.values(rows).flat()).toEqual([]);
  },
);

test.each([
  ["killed", "SIGKILL", [null, "SIGKILL"]],
  ["stopped", "SIGTERM", [1, null]],
] as const)(
  "a copy to a server that is %s leaves the target empty, and it can be copied again",
  async (_, signal, end) => {
    await using server = await startServer();
    await using target = await newTarget("migrated");
    await addLogs(server, 5_000, (at) => ({ output: `zebra ${at} ${"word ".repeat(200)}` }));
    const args = ["copy", "--from", server.databaseUrl, "--to", target.url];
    const child = spawn(process.execPath, [program, ...args], { env: { PATH: process.env.PATH } });
    const ended = once(child, "exit");
    const isInTheMiddle = async () => {
      const [row] = await execute(target.url, "select pg_relation_size('log_texts') as size");
      return Number(row!.size) > 500_000;
    };
    await vi.waitUntil(isInTheMiddle, { timeout: 20_000 });
    child.kill(signal);
    expect(await ended).toEqual(end);
    expect(Object.values(await dump(target.url)).flat()).toEqual([]); // waits until the server has taken all back
    expect(await copy(server, server.databaseUrl, target.url)).toMatchObject({ code: 0 });
    expect(await dump(target.url)).toEqual(await dump(server.databaseUrl));
  },
  60_000,
);

test.each([
  ["changes a value", "new.input = ' ' || new.input; return new"],
  ["drops a row", "return null"],
])("a target that %s is noticed, and nothing stays in it", async (_, does) => {
  await using server = await startServer();
  await using target = await newTarget("migrated");
  await addLogs(server, 3, (at) => ({ input: at }));
  await execute(
    target.url,
    `create function meddle() returns trigger language plpgsql as $$ begin if new.input = '1' then ${does}; end if; return new; end $$;
     create trigger meddling before insert on logs for each row execute function meddle();
     alter table log_texts drop constraint log_texts_log_id_fkey`,
  );
  expect(await copy(server, server.databaseUrl, target.url)).toEqual(
    refused("The table logs is not the same in the target"),
  );
  expect(Object.values(await dump(target.url)).flat()).toEqual([]);
});

test("a copy holds to no limit of time, neither where it reads nor where it writes", async () => {
  await using target = await newTarget("migrated");
  const database = await openDatabase(target.url, entities);
  const { orm, dialect } = database;
  const limits =
    "select current_setting('statement_timeout') as a, current_setting('idle_in_transaction_session_timeout') as b";
  const ask = ({ execute }: Snapshot) => execute(limits);
  expect(await dialect.copier.read(orm, ask)).toEqual([{ a: "0", b: "0" }]);
  expect(await dialect.copier.fill(orm, tablesOf(orm.getMetadata()), ask)).toEqual([{ a: "0", b: "0" }]);
  await database.close();
});

test("a copy that ends after any portion leaves nothing in the target, not even what it was writing", async () => {
  await using server = await startServer();
  await using target = await newTarget("migrated");
  await addLogs(server, 1_200, () => ({}));
  /** Whether the copy was over before as many portions were copied or checked. */
  const isCopiedWithin = async (maxPortions: number): Promise<boolean> => {
    const stop = new AbortController();
    let portions = 0;
    const report = () => {
      portions += 1;
      if (portions === maxPortions) stop.abort(new Error("Enough."));
    };
    const run = { begin: () => {}, report, signal: stop.signal, entities };
    return copyDatabase(server.databaseUrl, target.url, run).then(
      () => true,
      () => false,
    );
  };
  let maxPortions = 1;
  for (; !(await isCopiedWithin(maxPortions)); maxPortions += 1) {
    const filled = Object.entries(await dump(target.url)).filter(([, { length }]) => length > 0);
    const [words] = await execute(target.url, "select count(*)::int as count from log_texts");
    expect({ filled, words, maxPortions }).toEqual({ filled: [], words: { count: 0 }, maxPortions });
  }
  expect(maxPortions).toBeGreaterThan(10);
}, 120_000);
