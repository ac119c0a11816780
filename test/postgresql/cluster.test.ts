import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, describe, expect, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { seedDatabase } from "../../src/sample/seed.ts";

// Two gateways on a primary and a replica of the tests' own; the tests follow each other, the last one promotes.
const program = fileURLToPath(new URL("../support/postgresCluster.ts", import.meta.url));
const cluster = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
const said = createInterface(cluster.stdout)[Symbol.asyncIterator]();
const urls: { primary: string; replica: string } = JSON.parse((await said.next()).value ?? "");
const command = async (line: string) => {
  cluster.stdin.write(`${line}\n`);
  await said.next();
};

const { host: primaryHost } = new URL(urls.primary);
const { host: replicaHost } = new URL(urls.replica);
const url = `postgresql://postgres@${primaryHost},${replicaHost}/postgres`;
const open = () => openDatabase(url, entities, { poolSize: 5, replicaUrls: [urls.replica] });
const database = await open();
await migrate(database);
const { token } = (await seedDatabase(database, { firstToken: null, sample: "with sample" }))!;
const one = await createApp(database, { corsOrigins: [] }, false);
const two = await createApp(await open(), { corsOrigins: [] }, false);
afterAll(async () => {
  await Promise.all([one.close(), two.close()]);
  const ended = once(cluster, "exit");
  cluster.stdin.end();
  await ended;
});

const send = async (
  app: typeof one,
  method: "GET" | "POST",
  path: string,
  payload?: object,
  key?: string,
) => {
  const headers = { authorization: `Bearer ${token}`, ...(key && { "idempotency-key": key }) };
  const {
    statusCode,
    headers: answered,
    body,
  } = await app.inject({ method, url: path, headers, ...(payload && { payload }) });
  return { status: statusCode, retryAfter: answered["retry-after"], body: JSON.parse(body) };
};
const quiz = async (app: typeof one): Promise<{ id: string }[]> =>
  (await send(app, "GET", "/datasets/country-quiz")).body.dataset.rows;
const addRow = async (app: typeof one): Promise<string> =>
  (await send(app, "POST", "/datasets/country-quiz/items", { values: { question: "?" } })).body.datasetRow.id;

async function ask(server: string, statement: string): Promise<Record<string, never>> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  const { rows } = await client.query(statement);
  await client.end();
  return rows[0];
}
const readAtReplica = async () =>
  Number(
    (
      await ask(
        urls.replica,
        "select idx_tup_fetch + seq_tup_read as count from pg_stat_user_tables where relname = 'dataset_rows'",
      )
    ).count,
  );
const rowsAtReplica = async () =>
  Number((await ask(urls.replica, "select count(*) as count from dataset_rows")).count);

const expectReadingFromReplica = async () => {
  const before = await readAtReplica();
  await vi.waitFor(async () => {
    await quiz(one);
    expect(await readAtReplica()).toBeGreaterThan(before);
  }, 10_000);
};

/** Adds rows at either gateway and has each of them looked for at once at the other one. */
async function expectOwnWritesToBeSeen(times: number): Promise<void> {
  for (let n = 0; n < times; n++) {
    const [writer, reader] = n % 2 ? [one, two] : [two, one];
    const id = await addRow(writer);
    expect((await quiz(reader)).map((row) => row.id)).toContain(id);
    expect((await quiz(writer)).map((row) => row.id)).toContain(id);
  }
}

describe("a primary and its replica, of which the last test promotes the replica", { shuffle: false }, () => {
  test("reads are served by the replica, and see what was written before at any gateway", async () => {
    await vi.waitFor(async () => expect(await rowsAtReplica()).toBeGreaterThan(0), 10_000);
    await expectReadingFromReplica();
    await expectOwnWritesToBeSeen(50);
  });

  test("a replica that lags serves no read that it would answer wrongly, and is taken back when it has caught up", async () => {
    await ask(urls.replica, "select pg_wal_replay_pause()");
    const before = await rowsAtReplica();
    await expectOwnWritesToBeSeen(10);
    expect(await rowsAtReplica()).toBe(before);
    await ask(urls.replica, "select pg_wal_replay_resume()");
    await vi.waitFor(async () => expect(await rowsAtReplica()).toBe(before + 10), 10_000);
    await expectReadingFromReplica();
  });

  test("a read that the replica aborts is repeated on the primary, with the settings of its transaction", async () => {
    const reading = sql<{ limit: string }>`
      select case when pg_is_in_recovery() then cast(pg_sleep(60) as text) else current_setting('statement_timeout') end as limit`;
    const alone = () => reading.execute(database.read);
    const inTransaction = () =>
      database.read.transaction().execute(async (transaction) => {
        await sql`set local statement_timeout = '61s'`.execute(transaction);
        return reading.execute(transaction);
      });
    const aborted =
      "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(60)%' and pid <> pg_backend_pid()";
    for (const [read, limit] of [[alone, "10s"] as const, [inTransaction, "61s"] as const]) {
      await expectReadingFromReplica();
      const result = read();
      await vi.waitFor(async () => expect(await ask(urls.replica, aborted)).toBeDefined(), 10_000);
      expect((await result).rows).toEqual([{ limit }]);
    }
  });

  test("when the replica dies the primary serves all reads, and it is taken back when it is there again", async () => {
    const statuses = new Set<number>();
    const reading = { isGoingOn: true };
    const readers = Array.from({ length: 4 }, async () => {
      while (reading.isGoingOn) statuses.add((await send(one, "GET", "/datasets/country-quiz")).status);
    });
    await command("kill replica");
    await expectOwnWritesToBeSeen(10);
    reading.isGoingOn = false;
    await Promise.all(readers);
    expect([...statuses]).toEqual([200]);
    await command("start replica");
    await vi.waitFor(async () => expect(await rowsAtReplica()).toBeGreaterThan(0), 10_000);
    await expectReadingFromReplica();
  });

  test("when the primary dies under load and the replica is promoted, nothing acknowledged is lost or doubled", async () => {
    await ask(urls.primary, "alter system set synchronous_standby_names = '*'");
    await ask(urls.primary, "select pg_reload_conf()");
    const acknowledged = new Map<string, string>();
    const troubles: { status: number; retryAfter: unknown }[] = [];
    const writing = { isGoingOn: true };
    const log = async (app: typeof one, output: string, api: "REST" | "GraphQL") => {
      const input = { slug: "country-guide", output };
      const query = "mutation ($input: LogPromptInput!) { logPrompt(input: $input) { log { id } } }";
      const answer =
        api === "REST"
          ? await send(app, "POST", "/monitor/log", input, output)
          : await send(app, "POST", "/graphql", { query, variables: { input } }, output);
      return { ...answer, id: answer.body.log?.id ?? answer.body.data?.logPrompt.log.id };
    };
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let n = 0; writing.isGoingOn || n < 5; n++) {
        const output = `written-${writer}-${n}`;
        for (let attempt = 0; ; attempt++) {
          const app = (writer + attempt) % 2 ? one : two;
          const { status, retryAfter, id } = await log(app, output, writer % 4 < 2 ? "REST" : "GraphQL");
          if (status === 200) acknowledged.set(output, id);
          else troubles.push({ status, retryAfter });
          if (status === 200) break;
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    });
    await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(200), 20_000);
    await command("kill primary");
    await vi.waitFor(() => expect(troubles.length).toBeGreaterThan(20), 20_000);
    const before = acknowledged.size;
    await ask(urls.replica, "select pg_promote()");
    await vi.waitFor(() => expect(acknowledged.size).toBeGreaterThan(before + 200), 20_000);
    writing.isGoingOn = false;
    await Promise.all(writers);

    expect(new Set(troubles.map(({ status }) => status))).toEqual(new Set([503]));
    expect(troubles.every(({ retryAfter }) => retryAfter === "1")).toBe(true);
    const stored = await database.orm.em
      .fork()
      .execute("select id, output from logs where output like '\"written-%'");
    const idOf = new Map(stored.map(({ id, output }) => [JSON.parse(output), id]));
    expect(stored).toHaveLength(acknowledged.size);
    expect(Object.fromEntries(idOf)).toEqual(Object.fromEntries(acknowledged));
    expect((await send(one, "GET", "/ready")).status).toBe(200);
  }, 90_000);
});
