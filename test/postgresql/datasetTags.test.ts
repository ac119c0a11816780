import pg from "pg";
import { expect, test } from "vitest";
import { addDataset } from "../support/data.ts";
import { execute } from "../support/postgresSetup.ts";
import { type Server, startServer } from "../support/server.ts";

const TAG =
  'mutation($tag: String!, $to: DatasetVersionSelector!) { tagDatasetVersion(slug: "d", input: { tag: $tag, to: $to }) { datasetTag { version } } }';

/** Waits until so many statements wait for a lock. */
async function waiting({ databaseUrl }: Server, count: number) {
  const statement =
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  await expect.poll(() => execute(databaseUrl, statement), { interval: 10 }).toHaveLength(count);
}

test("two tags of a dataset that take each other's version at once do not swap, also where one comes with a key", async () => {
  await using server = await startServer();
  await addDataset(server, {
    slug: "d",
    columns: [{ name: "q", type: "text" }],
    rows: [{ values: { q: "1" } }],
  });
  expect((await server.graphql(TAG, { tag: "a", to: { version: 1 } })).body.errors).toBeUndefined();
  expect((await server.graphql(TAG, { tag: "b", to: { version: 2 } })).body.errors).toBeUndefined();
  const holder = new pg.Client({ connectionString: server.databaseUrl });
  await holder.connect();
  await holder.query("begin");
  await holder.query("select * from dataset_tags where label = 'b' for update");
  const first = server.graphql(TAG, { tag: "b", to: { tag: "a" } }); // holds the dataset, waits for its tag
  await waiting(server, 1);
  const second = server.graphql(
    TAG,
    { tag: "a", to: { tag: "b" } },
    { headers: { "idempotency-key": "swap" } },
  ); // waits for the dataset
  await waiting(server, 2);
  await holder.query("commit");
  await holder.end();
  expect((await first).body.errors).toBeUndefined();
  expect((await second).body.errors).toBeUndefined();
  const tags = await server.database.read.selectFrom("DatasetTag").select(["label", "version"]).execute();
  expect(new Set(tags.map(({ version }) => version)).size).toBe(1);
});

test.each([
  ["read", '{ dataset(slug: "d", tag: "gate") { version rowCount } }', { version: 3, rowCount: 2 }],
  [
    "compared with the newest version",
    '{ datasetDiff(slug: "d", from: { tag: "gate" }, to: { tag: "latest" }) { nodes { kind } } }',
    [],
  ],
])("a dataset is %s by a tag while the tag moves to a new version", async (_, query, expected) => {
  await using server = await startServer();
  const columns = [{ name: "q", type: "text" as const }];
  await addDataset(server, { slug: "d", columns, rows: [{ values: { q: "1" } }] });
  expect((await server.graphql(TAG, { tag: "gate", to: { tag: "latest" } })).body.errors).toBeUndefined();
  const holder = new pg.Client({ connectionString: server.databaseUrl });
  await holder.connect();
  await holder.query("begin");
  await holder.query("lock table dataset_tags in access exclusive mode");
  const answer = server.run(query);
  await waiting(server, 1); // for the tag
  await server.post("/datasets/d/items", { values: { q: "2" } });
  await holder.query("update dataset_tags set version = (select max(version) from datasets)");
  await holder.query("commit");
  await holder.end();
  expect(await answer).toEqual(expected);
});
