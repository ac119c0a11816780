import { existsSync, readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, test } from "vitest";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { dump } from "../support/copies.ts";
import { copy, fileIn, refused, startCopy } from "../support/copyCommand.ts";
import { addLogs } from "../support/logs.ts";
import { type Server, startServer } from "../support/server.ts";

// What a copy from file to file refuses or leaves behind. What also depends on the source is in test/reliability/copy.test.ts.

test("an empty database that is there already is filled", async () => {
  await using server = await startServer();
  const to = `sqlite:${fileIn(server)}`;
  const empty = await openDatabase(to, entities);
  await migrate(empty);
  await empty.close();
  expect(await copy(server, to)).toMatchObject({ code: 0 });
  expect(await dump(to)).toEqual(await dump(server.databaseUrl));
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

test("a copy that is stopped says so and leaves nothing behind", async () => {
  await using server = await startServer();
  const { child, ended, said } = await startCopy(server);
  child.kill("SIGTERM");
  expect(await ended).toEqual([1, null]);
  expect(said()).toBe("gabbro: The copy was broken off. The target is as it was.\n");
  expect(readdirSync(join(server.folder, "to"))).toEqual([]);
}, 60_000);

test("a file with bytes that are no text is refused, with the place", async () => {
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
});

test("a row without its parent is refused, with its id", async () => {
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
