import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { inTransaction } from "../../src/database/transaction.ts";
import { putDatasetItems } from "../../src/datasets/bulk.resolvers.ts";
import { datasetRowInput } from "../../src/datasets/inputs.ts";
import { findLocked } from "../../src/datasets/resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";

const add = (server: Server, row: { key: string | null; values: object }) =>
  server.post("/datasets/d/items", row);

const importRow = async ({ database }: Server, row: { key: string | null; values: object }) =>
  putDatasetItems(commandLineContext(database, await getWorkspaceId(database, "default")), {
    slug: "d",
    items: [datasetRowInput.parse(row)],
  });

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
    const { promise: gate, resolve: open } = Promise.withResolvers<void>();
    const holding = inTransaction(
      server.database.fork(workspace),
      async (em) => {
        await findLocked(em, id);
        await gate;
      },
      "locked rows",
    );
    await wait(100);
    const renaming = server.graphql(
      'mutation { updateDataset(slug: "d", input: { renameColumns: [{ from: "a", to: "b" }], addColumns: [{ name: "a", type: TEXT }] }) { dataset { version } } }',
    );
    await wait(150); // it waits for the dataset
    const adding = store(server, { key, values: { a: "mine" } });
    await wait(150); // it has looked up the columns, and waits behind
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
