import { expect, test } from "vitest";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { addToken, addWorkspace } from "../support/data.ts";
import { startServer } from "../support/server.ts";

test("uses of tokens that are being revoked have nobody of another workspace wait who signs in", async () => {
  await using server = await startServer({ console: true });
  const { token } = await addWorkspace(server, "other");
  const tokens = await Promise.all(Array.from({ length: 5 }, () => addToken(server))); // as many as there are connections
  const lock = await openDatabase(server.databaseUrl, entities);
  const em = lock.orm.em.fork();
  await em.begin();
  const ids = tokens.map(({ id }) => `'${id}'`);
  await em.execute(`select 1 from access_tokens where id in (${ids}) for update`);
  for (const own of tokens) expect((await server.get("/prompts", own)).status).toBe(200);
  const held = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
  await expect.poll(async () => (await lock.orm.em.fork().execute(held)).length).toBeGreaterThan(1);
  const headers = { "sec-fetch-site": "same-origin" };
  expect((await server.post("/console/session", { token }, { token: null, headers })).status).toBe(204);
  await em.rollback();
  await lock.close();
});
