import { EntityManager } from "@mikro-orm/core";
import { expect, onTestFinished, test, vi } from "vitest";
import { inTransaction } from "../../src/database/transaction.ts";
import { writeQueueOf } from "../../src/database/writeQueue.ts";
import { putDatasetItems } from "../../src/datasets/bulk.resolvers.ts";
import { datasetRowInput } from "../../src/datasets/inputs.ts";
import { findLocked } from "../../src/datasets/resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset } from "../support/data.ts";
import { isOnPostgresql, type Server, startServer } from "../support/server.ts";

const add = (server: Server, row: { key: string | null; values: object }) =>
  server.post("/datasets/d/items", row);

const importRow = async ({ database }: Server, row: { key: string | null; values: object }) =>
  putDatasetItems(commandLineContext(database, await getWorkspaceId(database, "default")), {
    slug: "d",
    items: [datasetRowInput.parse(row)],
  });

/** How many writes wait: for their turn, for a lock, or on SQLite for the one connection that writes. */
async function countWaiting({ database }: Server): Promise<number> {
  const queued = writeQueueOf(database.orm.em)!.waiting();
  const locks =
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
  if (isOnPostgresql) return queued + (await database.orm.em.fork().execute(locks)).length;
  const begun = [EntityManager.prototype.transactional, database.putInBulk].map(
    (write) => vi.mocked(write).mock,
  );
  // The first one holds the dataset.
  return begun.reduce((sum, { calls }) => sum + calls.length, queued + database.commit.waiting()) - 1;
}

test.each([
  { kind: "a row with a key", key: "k", store: add },
  { kind: "a row without a key", key: null, store: add },
  { kind: "an imported row", key: "k", store: importRow },
])(
  "$kind that waits while columns are renamed keeps its values under the names that it named",
  async ({ key, store }) => {
    await using server = await startServer();
    const { id } = await addDataset(server, { slug: "d", columns: [{ name: "a", type: "text" }] });
    await server.get("/datasets/d"); // the columns are known from now on
    const workspace = await getWorkspaceId(server.database, "default");
    vi.spyOn(EntityManager.prototype, "transactional");
    vi.spyOn(server.database, "putInBulk");
    onTestFinished(() => void vi.restoreAllMocks());
    const waiting = (count: number) => expect.poll(() => countWaiting(server)).toBe(count);
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const { promise: isLocked, resolve: locked } = Promise.withResolvers<void>();
    const hold = async (em: Parameters<typeof findLocked>[0]) => {
      await findLocked(em, id);
      locked();
      await gate;
    };
    const holding = inTransaction(server.database.fork(workspace), hold, "locked rows");
    await isLocked;
    const renaming = server.graphql(
      'mutation { updateDataset(slug: "d", input: { renameColumns: [{ from: "a", to: "b" }], addColumns: [{ name: "a", type: TEXT }] }) { dataset { version } } }',
    );
    await waiting(1); // for the dataset
    const adding = store(server, { key, values: { a: "mine" } });
    await waiting(2); // it has looked up the columns
    open();
    await holding;
    const { body: renamed } = await renaming;
    expect(renamed.errors).toBeUndefined();
    expect(await adding).toMatchObject(
      store === add ? { status: 201, body: { datasetRow: { values: { a: "mine" } } } } : { added: 1 },
    );
    const { body } = await server.get("/datasets/d");
    expect(body.dataset.version).toBeGreaterThan(renamed.data.updateDataset.dataset.version);
    expect(body.dataset.rows.map(({ values }: { values: object }) => values)).toEqual([{ a: "mine" }]);
  },
);
