import { expect, test } from "vitest";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { addWorkspace } from "../support/data.ts";
import { encodeSpans, newSpan } from "../support/otlp.ts";
import { connectGrpc } from "../support/otlpGrpc.ts";
import { startServer } from "../support/server.ts";

test("an export by gRPC that waits for a lock has no other workspace wait, and goes on afterwards", async () => {
  await using server = await startServer();
  using client = await connectGrpc(server);
  const { token } = await addWorkspace(server, "other");
  const traceId = Buffer.alloc(16, 1);
  const spans = () => encodeSpans([newSpan({ traceId })]);
  expect(await client.send(spans())).toMatchObject({ code: 0 });
  const lock = await openDatabase(server.databaseUrl, entities);
  const em = lock.orm.em.fork();
  await em.begin();
  await em.execute("select 1 from traces for update");
  let isAnswered = false;
  const waiting = client.send(spans()).finally(() => {
    isAnswered = true;
  });
  const held = "select 1 from pg_stat_activity where wait_event_type = 'Lock'";
  await expect.poll(async () => (await lock.orm.em.fork().execute(held)).length).toBe(1);
  for (let n = 0; n < 3; n++)
    expect(await client.send(encodeSpans([newSpan()]), { token })).toMatchObject({ code: 0 });
  expect(isAnswered).toBe(false);
  await em.rollback();
  expect(await waiting).toMatchObject({ code: 0 });
  await lock.close();
});
