import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { exportDataset } from "../../src/commands/export/exportDataset.ts";
import { importDataset } from "../../src/commands/import/importDataset.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { startServer } from "../support/server.ts";

afterEach(() => {
  process.exitCode = undefined; // a rejected row sets it
});

test("a column that --key names gives no key that the service would refuse, and an export can be imported again", async () => {
  await using server = await startServer();
  const context = commandLineContext(server.database, await getWorkspaceId(server.database, "default"));
  const file = join(server.folder, "rows.jsonl");
  const rows = ["x".repeat(600), "short"].map((q) => JSON.stringify({ values: { q } }));
  await writeFile(file, rows.join("\n"));
  await importDataset(context, file, { slug: "keyed", key: "q", json: true });
  const keys = async (slug: string) =>
    (
      await server.database.read
        .selectFrom("DatasetRow")
        .innerJoin("Dataset", "Dataset.id", "DatasetRow.dataset")
        .select("DatasetRow.key")
        .where("Dataset.slug", "=", slug)
        .execute()
    ).map(({ key }) => key);
  const stored = await keys("keyed");
  const exported = join(server.folder, "exported.jsonl");
  await exportDataset(context, "keyed", { output: exported });
  await importDataset(context, exported, { slug: "again", json: true });
  expect(await keys("again")).toEqual(stored);
  expect(stored).toEqual(["short"]);
});
