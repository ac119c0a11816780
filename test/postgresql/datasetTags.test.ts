import pg from "pg";
import { expect, test, vi } from "vitest";
import { addDataset } from "../support/data.ts";
import { execute } from "../support/postgresSetup.ts";
import { startServer } from "../support/server.ts";

const TAG =
  'mutation($tag: String!, $to: DatasetVersionSelector!) { tagDatasetVersion(slug: "d", input: { tag: $tag, to: $to }) { datasetTag { version } } }';

test("two tags of a dataset that take each other's version at once do not swap, also where one comes with a key", async () => {
  await using server = await startServer();
  await addDataset(server, {
    slug: "d",
    columns: [{ name: "q", type: "text" }],
    rows: [{ values: { q: "1" } }],
  });
  expect((await server.graphql(TAG, { tag: "a", to: { version: 1 } })).body.errors).toBeUndefined();
  expect((await server.graphql(TAG, { tag: "b", to: { version: 2 } })).body.errors).toBeUndefined();
  const waiting = async (count: number) => {
    const statement =
      "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    await vi.waitFor(async () => expect(await execute(server.databaseUrl, statement)).toHaveLength(count), {
      timeout: 10_000,
      interval: 10,
    });
  };
  const holder = new pg.Client({ connectionString: server.databaseUrl });
  await holder.connect();
  await holder.query("begin");
  await holder.query("select * from dataset_tags where label = 'b' for update");
  const first = server.graphql(TAG, { tag: "b", to: { tag: "a" } }); // holds the dataset, waits for its tag
  await waiting(1);
  const second = server.graphql(
    TAG,
    { tag: "a", to: { tag: "b" } },
    { headers: { "idempotency-key": "swap" } },
  ); // waits for the dataset
  await waiting(2);
  await holder.query("commit");
  await holder.end();
  expect((await first).body.errors).toBeUndefined();
  expect((await second).body.errors).toBeUndefined();
  const tags = await server.database.read.selectFrom("DatasetTag").select(["label", "version"]).execute();
  expect(new Set(tags.map(({ version }) => version)).size).toBe(1);
});
