import { expect, test } from "vitest";
import { serveOnSlowDisk } from "../torture/slowDisk.ts";
import { newDatabase } from "./bareDatabase.ts";
import { isOnPostgresql } from "./server.ts";

// The long form: npm run torture -- slow-disk

test("when every commit takes 20 ms, many of 64 callers share one, and all are answered", async () => {
  await using database = await newDatabase();
  const { writesPerCommit, failed } = await serveOnSlowDisk(database, { seconds: 2 });
  expect(failed).toBe(0);
  expect(writesPerCommit).toBeGreaterThan(6);
});

// With SQLite the disk's time counts as work of the requests, with PostgreSQL what waits is begun however much is under way.
const preload = isOnPostgresql ? "manyTransactions" : "diskTimeAsWork";

test("that test sees that hardly any do where nothing has them wait for each other", async () => {
  await using database = await newDatabase();
  expect((await serveOnSlowDisk({ ...database, preload }, { seconds: 2 })).writesPerCommit).toBeLessThan(4);
});
