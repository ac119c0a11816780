import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { addToken } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const METRICS_TOKEN = "a token for the metrics only";

test("requests whose clients close the connection while their tokens are looked up take no part of any limit for good", async () => {
  await using server = await startServer({ metricsToken: METRICS_TOKEN });
  const { token } = await addToken(server); // nobody has used it, so it is not cached
  const lock = await openDatabase(server.databaseUrl, entities);
  const em = lock.orm.em.fork();
  await em.begin();
  await em.execute("lock table access_tokens");
  const head = `POST /monitor/log HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json`;
  const sockets = Array.from({ length: 20 }, () => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write(`${head}\r\nContent-Length: 100000\r\n\r\n{"slug"`);
    return socket;
  });
  const inFlight = async () => {
    const { body } = await server.request("GET", "/metrics", undefined, { token: METRICS_TOKEN });
    return Number(/^gabbro_requests_in_flight (\d+)$/m.exec(body)![1]);
  };
  await expect.poll(inFlight).toBe(20);
  const closed = sockets.map((socket) => once(socket, "close"));
  for (const socket of sockets) socket.destroy();
  await Promise.all(closed);
  await expect.poll(inFlight).toBe(0);
  await em.commit();
  expect((await server.get("/prompts", { token })).status).toBe(200); // so the others were looked up, too
  expect(await inFlight()).toBe(0);
  await lock.close();
});
