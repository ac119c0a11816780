import pg from "pg";
import { afterEach, expect, test, vi } from "vitest";
import { MAX_OPEN_MS } from "../../src/database/requestTransaction.ts";
import { addDataset, addPrompt, addWorkspace } from "../support/data.ts";
import { execute } from "../support/postgresSetup.ts";
import { type Server, startServer } from "../support/server.ts";
import { captureStatements } from "../support/statements.ts";

afterEach(() => vi.restoreAllMocks());

/** Holds locks of all datasets, until the returned function is called. */
async function lockDatasets({ databaseUrl }: Server): Promise<() => Promise<void>> {
  const holder = new pg.Client({ connectionString: databaseUrl });
  await holder.connect();
  await holder.query("begin");
  await holder.query("select * from datasets for update");
  return async () => {
    await holder.query("rollback");
    await holder.end();
  };
}

test("a request with a key whose write is refused, as another transaction is in its way, runs again and is answered", async () => {
  await using server = await startServer();
  await addPrompt(server, {
    slug: "guide",
    versions: [{ version: "1" }, { version: "2" }],
    tags: { live: "1" },
  });
  const other = new pg.Client({ connectionString: server.databaseUrl });
  await other.connect();
  // It changes what the request changes, and what it reads then.
  await other.query("begin");
  await other.query("update prompts set name = 'Other'");
  await other.query(
    "update prompt_tags set version_id = (select id from prompt_versions where version = '2') where label = 'live'",
  );
  const updating = server.graphql(
    'mutation { updatePrompt(slug: "guide", input: { name: "New" }) { prompt { name tags { label version } } } }',
    {},
    { headers: { "idempotency-key": "in-the-way" } },
  );
  const waiting =
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await vi.waitFor(async () => expect(await execute(server.databaseUrl, waiting)).toHaveLength(1), 10_000);
  await other.query("commit");
  await other.end();
  const prompt = { name: "New", tags: [{ label: "live", version: "2" }] };
  expect((await updating).body).toEqual({ data: { updatePrompt: { prompt } } });
});

/** Lets such a transaction stay open for longer than the second that a busy machine may need for the others. */
function lengthenTransactions(): void {
  const { setTimeout: original } = globalThis;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms = 0, ...args: []) =>
    original(work, ms === MAX_OPEN_MS ? 60 * ms : ms, ...args)) as typeof setTimeout);
}

test("a request with a key is not run again for those of other workspaces that store logs meanwhile", async () => {
  await using server = await startServer();
  lengthenTransactions();
  const { token } = await addWorkspace(server, "other");
  await addDataset(server, { slug: "rows", columns: [{ name: "a", type: "text" }] });
  const release = await lockDatasets(server);
  const logs = (slug: string, count: number) =>
    Array.from(
      { length: count },
      (_, n) => `${slug}${n}: logPrompt(input: { slug: "${slug}", output: "a" }) { __typename }`,
    ).join(" ");
  const stop = await captureStatements(server);
  const stored = server.graphql(
    `mutation { ${logs("own", 5)} updateDataset(slug: "rows", input: { name: "b" }) { __typename } ${logs("more", 5)} }`,
    {},
    { headers: { "idempotency-key": "own" } },
  );
  const waiting =
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await vi.waitFor(async () => expect(await execute(server.databaseUrl, waiting)).toHaveLength(1), 10_000);
  for (const key of ["1", "2", "3"]) {
    const headers = { "idempotency-key": key };
    const theirs = await server.graphql(`mutation { ${logs("theirs", 1)} }`, {}, { token, headers });
    expect(theirs.body.errors).toBeUndefined();
  }
  await release();
  expect((await stored).body.errors).toBeUndefined();
  const begun = stop().filter(({ sql }) => /^(?:begin|start transaction)\b.*isolation/i.test(sql));
  expect(begun).toHaveLength(4);
});

test("two tags of a prompt, each of which takes the version of the other at once, end at the same version", async () => {
  await using server = await startServer();
  const versions = [{ version: "1" }, { version: "2" }];
  await addPrompt(server, { slug: "guide", versions, tags: { a: "1", b: "2" } });
  const take = (newTag: string, tag: string, key?: string) =>
    server.graphql(
      `mutation { publishPrompt(slug: "guide", input: { newTag: "${newTag}", to: { tag: "${tag}" } }) { __typename } }`,
      {},
      key === undefined ? {} : { headers: { "idempotency-key": key } },
    );
  for (let n = 0; n < 10; n++) {
    const answers = await Promise.all([take("a", "b", n % 2 ? `a${n}` : undefined), take("b", "a", `b${n}`)]);
    for (const { body } of answers) expect(body.errors).toBeUndefined();
    const { tags } = await server.run('{ prompt(slug: "guide") { tags { version } } }');
    expect(tags[0].version).toBe(tags[1].version);
    const label = n % 3 ? "a" : "b";
    const version = tags[0].version === "1" ? "2" : "1";
    await server.run(
      `mutation { publishPrompt(slug: "guide", input: { newTag: "${label}", to: { version: "${version}" } }) { __typename } }`,
    );
  }
});

test("a log may wait as long as it takes for the commits of others that notify, but not for a lock", async () => {
  await using server = await startServer();
  const stop = await captureStatements(server);
  await server.post("/monitor/log", { slug: "any", output: "ok" });
  const statements = stop().map(({ sql }) => sql);
  const at = (part: string) => statements.findIndex((sql) => sql.includes(part));
  expect(at("set local lock_timeout = '50ms'")).toBeLessThan(at('insert into "logs"'));
  expect(statements.slice(at("set_config('lock_timeout'") + 1)).toEqual(["commit"]);
});

test("a request with a key that stores a log keeps its limit for locks, and so ends while another holds one", async () => {
  await using server = await startServer();
  await addDataset(server, { slug: "rows", columns: [{ name: "a", type: "text" }] });
  const release = await lockDatasets(server);
  const { body } = await server.graphql(
    'mutation { logPrompt(input: { slug: "x", output: "a" }) { __typename } updateDataset(slug: "rows", input: { name: "b" }) { __typename } }',
    {},
    { headers: { "idempotency-key": "waits" } },
  );
  expect(body.errors[0].extensions.code).toBe("UNAVAILABLE"); // not TIMED_OUT, after 10 s
  const waiting =
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await vi.waitFor(async () => expect(await execute(server.databaseUrl, waiting)).toEqual([]), 3_000);
  await release();
});

test("rows that wait for a lock of their dataset hold up no log of another workspace, and are stored once it is released", async () => {
  await using server = await startServer();
  const { token } = await addWorkspace(server, "other");
  await addDataset(server, { slug: "rows", columns: [{ name: "a", type: "text" }] });
  const release = await lockDatasets(server);
  const waiting: Promise<{ status: number }>[] = [];
  for (let n = 0; n < 8; n++) {
    waiting.push(server.post("/datasets/rows/items", { values: { a: `${n}` } }));
    await new Promise((resolve) => setTimeout(resolve, 5)); // or else they share a transaction
  }
  const log = server.post("/monitor/log", { slug: "theirs", output: "ok" }, { token });
  const isStored = log.then(({ status }) => status);
  const areStored = Promise.race(waiting).then(() => "a row that should wait");
  expect(await Promise.race([isStored, areStored])).toBe(200);
  await release();
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(201);
});
