import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { answersOf, dump, fillWithOddValues } from "../support/copies.ts";
import { copy, fileIn, refused, startCopy } from "../support/copyCommand.ts";
import { addLogs } from "../support/logs.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";

// On SQLite these copy one file to another, on PostgreSQL a database of a server to a file.

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
