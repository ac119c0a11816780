import { expect, test, vi } from "vitest";
import { startPostgresql } from "../../faults/postgresql.ts";
import { createApp } from "../../src/app.ts";
import { migrate } from "../../src/database/migrate.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { findBinaries } from "../support/postgresServer.ts";

const why = findBinaries() ? undefined : "no PostgreSQL of npm to stop";
const WITHIN = { timeout: 5_000, interval: 50 };

test.skipIf(why)(
  `/ready reports within 5 s when the PostgreSQL server is killed or falls silent, and when it is back${why ? ` (left out: ${why})` : ""}`,
  async () => {
    const server = await startPostgresql({ fsync: "off" });
    const database = await openDatabase(server.url, entities, { poolSize: 3 });
    await migrate(database);
    const app = await createApp(database, {}, false);
    const ready = async () => (await app.inject("/ready")).statusCode;
    try {
      expect(await ready()).toBe(200);
      for (const [fault, end] of [
        [server.fallSilent, server.goOn],
        [server.kill, server.start],
      ] as const) {
        const began = performance.now();
        await fault();
        await vi.waitFor(async () => expect(await ready()).toBe(503), WITHIN);
        expect(performance.now() - began).toBeLessThan(5_000);
        expect((await app.inject("/health")).statusCode).toBe(200);
        await end();
        await vi.waitFor(async () => expect(await ready()).toBe(200), WITHIN);
      }
    } finally {
      await app.close();
      await server.remove();
    }
  },
);
