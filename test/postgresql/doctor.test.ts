import { expect, test } from "vitest";
import { storeRejected } from "../../src/inbox/recording.resolvers.ts";
import { gabbro } from "../support/program.ts";
import { startServer } from "../support/server.ts";

test("the doctor examines a database on PostgreSQL: its size, what arrived, and what was rejected, as checkup does", async () => {
  await using server = await startServer();
  await server.post("/monitor/log", { slug: "guide", output: "b" });
  await server.post("/monitor/log", {}, { headers: { "user-agent": "bad" } });
  await storeRejected(server.database);
  const { hostname: HOST, port: PORT } = new URL(server.url);
  const env = { DATABASE_URL: server.databaseUrl, HOST, PORT };
  const { code, stdout } = await gabbro(server.folder, ["doctor", "--json"], env);
  expect(code).toBe(1);
  const { database, workspaces, service, attention } = JSON.parse(stdout);
  const { findings } = await server.run("{ checkup { findings { problem advice } } }");
  expect(attention).toEqual([{ workspace: "default", ...findings[0] }]);
  expect(service.status).toBe("ready");
  expect(database.sizeBytes).toBeGreaterThan(1_000_000);
  expect(workspaces).toMatchObject([
    {
      arrived: { lastHour: { traces: 1, logs: 1, datasetRows: 0 } },
      rejected: [{ client: "bad", code: "BAD_INPUT", count: 1 }],
    },
  ]);
});
