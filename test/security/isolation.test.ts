import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { crossWorkspaces } from "../../faults/isolation.ts";
import { createApp } from "../../src/app.ts";
import type { Database, EntityManager } from "../../src/database/open.ts";
import { isOnPostgresql, type Server, startServer } from "../support/server.ts";

// The long form: npm run faults -- isolation. What single operations answer is in auth.test.ts.
const TIMEOUT_MS = 120_000;
const operations = 250;

test(
  "random operations with the ids, slugs, cursors and keys of another workspace reveal nothing of it and change nothing there",
  async () => {
    await using server = await startServer();
    const start = async () => ({ url: server.url, stop: async () => {} });
    const { succeeded, ...found } = await crossWorkspaces(server.database, start, { operations });
    expect(found).toEqual({ operations, leaks: [], changes: [] });
    expect(succeeded).toBeGreaterThan(operations / 4);
  },
  TIMEOUT_MS,
);

// What finds it is the same, whatever the database.
if (!isOnPostgresql)
  test(
    "the same operations find a gateway whose units of work are held to no workspace",
    async () => {
      await using server = await startServer();
      const start = () => serveAllWorkspaces(server);
      const { leaks } = await crossWorkspaces(server.database, start, { operations });
      expect(leaks).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

async function serveAllWorkspaces({ database }: Server) {
  const fork = (): EntityManager => {
    const em = database.fork(null);
    em.setFilterParams("workspace", { workspaceId: { $ne: null } });
    return em;
  };
  const spoilt: Database = { ...database, fork, close: async () => {} };
  const app = await createApp(spoilt, { corsOrigins: [] }, false);
  await app.listen({ host: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
  return { url, stop: () => app.close() };
}
