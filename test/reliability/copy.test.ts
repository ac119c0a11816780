import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test, vi } from "vitest";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { answersOf, dump, fillWithOddValues } from "../support/copies.ts";
import { addLogs } from "../support/logs.ts";
import { gabbro, program } from "../support/program.ts";
import { isOnPostgresql, type Server, startServer } from "../support/server.ts";

// On SQLite these copy one file to another, on PostgreSQL a database of a server to a file.

const fileIn = ({ folder }: Server) => join(folder, "to", "copy.sqlite");

const copy = ({ folder, databaseUrl }: Server, to: string, from = databaseUrl) =>
  gabbro(folder, ["copy", "--from", from, "--to", to]);

const refused = (message: string | RegExp) => ({
  code: 1,
  stdout: "",
  stderr: typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message),
});

/** Starts a copy that is long enough to be met in the middle, and waits until it has begun to write. */
async function startCopy(server: Server) {
  await addLogs(server, 5_000, (at) => ({ output: `zebra ${at} ${"word ".repeat(300)}` }));
  const args = ["copy", "--from", server.databaseUrl, "--to", `sqlite:${fileIn(server)}`];
  const child = spawn(process.execPath, [program, ...args], { env: { PATH: process.env.PATH } });
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  const ended = once(child, "exit");
  const written = `${fileIn(server)}.copy-${child.pid}-wal`;
  await vi.waitUntil(() => existsSync(written) && statSync(written).size > 1_000_000, { timeout: 20_000 });
  return { child, ended, said: () => said };
}

test("a copy has every row of every table exactly as it was, and the service answers the same on it", async () => {
  await using server = await startServer();
  const { otherToken, ids } = await fillWithOddValues(server);
  const to = `sqlite:${fileIn(server)}`;
  const { code, stdout } = await copy(server, to);
  expect(code).toBe(0);
  expect(stdout).toContain(`logs: ${ids.length + 3}\n`);
  const rows = await dump(server.databaseUrl);
  expect(Object.entries(rows).filter(([, { length }]) => length === 0)).toEqual([]);
  expect(readdirSync(join(server.folder, "to"))).toEqual(["copy.sqlite"]);
  expect(await dump(to)).toEqual(rows);
  for (const token of [server.token, otherToken])
    expect(await answersOf(to, token)).toEqual(await answersOf(server.databaseUrl, token));
}, 120_000);

test("an empty database that is there already is filled", async () => {
  await using server = await startServer();
  const to = `sqlite:${fileIn(server)}`;
  const empty = await openDatabase(to, entities);
  await migrate(empty);
  await empty.close();
  expect(await copy(server, to)).toMatchObject({ code: 0 });
  expect(await dump(to)).toEqual(await dump(server.databaseUrl));
});

test("what is written meanwhile is in the copy whole or not at all", async () => {
  await using server = await startServer();
  await addLogs(server, 5_000, () => ({}));
  const to = `sqlite:${fileIn(server)}`;
  let isDone = false;
  const copying = copy(server, to).finally(() => {
    isDone = true;
  });
  let written = 0;
  for (; !isDone; written++) {
    await server.post("/monitor/log", { slug: "s", output: "1", inputTokens: 1, outputTokens: 1 });
    await server.run(
      `mutation { createPrompt(input: { slug: "p${written}", name: "p" }) { prompt { slug } } }`,
    );
  }
  expect(await copying).toMatchObject({ code: 0 });
  expect(written).toBeGreaterThan(10);
  const rows = await dump(to);
  expect(rows.logs!.length).toBe(rows.traces!.length);
  // Each prompt was made together with its entry in the audit log.
  expect(rows.audit_entries!.length).toBe(rows.prompts!.length);
  expect(rows.logs!.length).toBeLessThan(5_000 + written);
});

test("a target with a row in it is refused and left as it is", async () => {
  await using server = await startServer();
  await using target = await openFile(server);
  const rows = await dump(target.url);
  const message = /^gabbro: The target .* is not empty: there are rows in workspaces\..*\n$/;
  expect(await copy(server, target.url)).toEqual(refused(message));
  expect(await dump(target.url)).toEqual(rows);
});

/** A file with a workspace in it. */
async function openFile(server: Server) {
  const url = `sqlite:${fileIn(server)}`;
  const database = await openDatabase(url, entities);
  await migrate(database);
  await database.commit([["Workspace", { id: crypto.randomUUID(), name: "w", createdAt: new Date() }]]);
  return { url, database, [Symbol.asyncDispose]: () => database.close() };
}

test("an empty file that another program has open is refused", async () => {
  await using server = await startServer();
  const to = `sqlite:${fileIn(server)}`;
  const other = await openDatabase(to, entities);
  await migrate(other);
  expect(await copy(server, to)).toEqual(refused("is in use by another program. Stop it, then copy again."));
  expect((await dump(to)).workspaces).toEqual([]);
  await other.close();
});

test("a file of another program is refused, whether it is to be read or written, and left as it is", async () => {
  await using server = await startServer();
  const path = join(server.folder, "foreign.sqlite");
  const foreign = new Database(path);
  foreign.exec("create table things (id integer)");
  foreign.close();
  const url = `sqlite:${path}`;
  expect(await copy(server, url)).toEqual(refused("but not one of Gabbro"));
  expect(await copy(server, `sqlite:${fileIn(server)}`, url)).toEqual(refused("but not one of Gabbro"));
  expect(Object.keys(await dump(url))).toEqual(["things"]);
  expect(existsSync(fileIn(server))).toBe(false);
});

test("the source itself is refused as the target, by whatever name", async () => {
  await using server = await startServer();
  const other = isOnPostgresql
    ? server.databaseUrl.replace("127.0.0.1", "localhost")
    : `sqlite:${server.folder}/../${server.folder.split("/").at(-1)}/gabbro.sqlite`;
  for (const to of [server.databaseUrl, other])
    expect(await copy(server, to)).toEqual(refused("The source and the target are the same database"));
});

test("a source with the schema of another version is refused, with what to do", async () => {
  await using server = await startServer();
  const to = `sqlite:${fileIn(server)}`;
  const run = (statement: string) => server.database.orm.em.fork().execute(statement);
  await run("insert into mikro_orm_migrations (name) values ('Migration29991231235959_future')");
  expect(await copy(server, to)).toEqual(
    refused(/made by a newer Gabbro \(Migration29991231235959_future\)\. (?:Run|Copy it with) that version/),
  );
  await run("delete from mikro_orm_migrations where name = 'Migration29991231235959_future'");
  const { name } = server.database.dialect.migrations.at(-1)!;
  await run(`delete from mikro_orm_migrations where name = '${name}'`);
  expect(await copy(server, to)).toEqual(refused(`lacks ${name}. Bring it up to date with gabbro migrate`));
  expect(existsSync(fileIn(server))).toBe(false);
});

test("a database that is missing or has an invalid URL is reported in one line, without the password", async () => {
  await using server = await startServer();
  const to = `sqlite:${fileIn(server)}`;
  expect(await copy(server, to, "sqlite:missing.sqlite")).toEqual(refused("There is no database at "));
  expect(await copy(server, "postgres//me:canary-3f1@host/db")).toEqual({
    ...refused(/^gabbro: --to must be sqlite:PATH or postgresql:[^\n]*\n$/),
    code: 2,
  });
  const unreachable = await copy(server, "postgresql://me:canary-3f1@127.0.0.1:9/db");
  expect(unreachable).toEqual(refused(/^gabbro: Cannot open the database db on 127\.0\.0\.1:9: .*\n$/));
  expect(unreachable.stderr).not.toContain("canary");
  await writeFile(join(server.folder, "broken"), "This is a shopping list. ".repeat(400));
  expect(await copy(server, `sqlite:${server.folder}/broken`)).toEqual(refused("not a database"));
  expect(existsSync(fileIn(server))).toBe(false);
});

test("a copy that is killed leaves no target, and the next one clears away what it left", async () => {
  await using server = await startServer();
  const { child, ended } = await startCopy(server);
  child.kill("SIGKILL");
  await ended;
  expect(existsSync(fileIn(server))).toBe(false);
  const to = `sqlite:${fileIn(server)}`;
  expect(await copy(server, to)).toMatchObject({ code: 0 });
  expect(readdirSync(join(server.folder, "to"))).toEqual(["copy.sqlite"]);
  expect(await dump(to)).toEqual(await dump(server.databaseUrl));
}, 60_000);

test("a copy that is stopped says so and leaves nothing behind", async () => {
  await using server = await startServer();
  const { child, ended, said } = await startCopy(server);
  child.kill("SIGTERM");
  expect(await ended).toEqual([1, null]);
  expect(said()).toBe("gabbro: The copy was broken off. The target is as it was.\n");
  expect(readdirSync(join(server.folder, "to"))).toEqual([]);
}, 60_000);

test.skipIf(isOnPostgresql)(
  "on SQLite: a file with bytes that are no text is refused, with the place",
  async () => {
    await using server = await startServer();
    const { ids } = await addLogs(server, 3, (at) => ({ promptSlug: `slug ${at} \ufffd` }));
    const to = `sqlite:${fileIn(server)}`;
    const run = (statement: string) => server.database.orm.em.fork().execute(statement);
    for (const [value, message] of [
      ["x'ff41'", "has no string in `prompt_slug`"],
      ["cast(x'ff41' as text)", "has bytes that are no UTF-8 in `prompt_slug`"],
    ]) {
      await run(`update logs set prompt_slug = ${value} where id = '${ids[1]}'`);
      expect(await copy(server, to)).toEqual(
        refused(`The source ${message} of the row ${ids[1]} of the table logs.`),
      );
    }
    expect(readdirSync(join(server.folder, "to"))).toEqual([]);
  },
);

test.skipIf(isOnPostgresql)("on SQLite: a row without its parent is refused, with its id", async () => {
  await using server = await startServer();
  const { ids } = await addLogs(server, 3, () => ({}));
  const path = join(server.folder, "orphans.sqlite");
  await server.database.dialect.copyTo!(server.database.orm, path);
  const file = new Database(path);
  file.pragma("foreign_keys = off");
  file.exec("delete from traces where id = (select trace_id from logs order by id limit 1)");
  file.close();
  expect(await copy(server, `sqlite:${fileIn(server)}`, `sqlite:${path}`)).toEqual(
    refused(`The target refuses the row ${ids[0]} of the table logs`),
  );
  expect(existsSync(fileIn(server))).toBe(false);
});
