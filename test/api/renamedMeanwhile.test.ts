import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { inTransaction } from "../../src/database/transaction.ts";
import { findLocked } from "../../src/datasets/resolvers.ts";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { addDataset } from "../support/data.ts";
import { startServer } from "../support/server.ts";

test("a row with a key that waits while columns are renamed keeps its values under the names that it named", async () => {
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
  const adding = server.post("/datasets/d/items", { key: "k", values: { a: "mine" } });
  await wait(150); // it has looked up the columns, and waits behind
  open();
  await holding;
  const { body: renamed } = await renaming;
  expect(renamed.errors).toBeUndefined();
  const { status, body: added } = await adding;
  expect({ status, values: added.datasetRow?.values }).toEqual({ status: 201, values: { a: "mine" } });
  const { body } = await server.get("/datasets/d");
  expect(body.dataset.version).toBeGreaterThan(renamed.data.updateDataset.dataset.version);
  expect(body.dataset.rows.map(({ values }: { values: object }) => values)).toEqual([{ a: "mine" }]);
});
