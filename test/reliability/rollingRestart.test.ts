import { expect, test } from "vitest";
import { startGateway } from "../../faults/gateway.ts";
import { restartInTurn } from "../../faults/rollingRestart.ts";
import { newDatabase } from "../support/bareDatabase.ts";
import { isOnPostgresql, startServer } from "../support/server.ts";

// The long form: npm run faults -- rolling-restart
const TIMEOUT_MS = 120_000;
const gateways = isOnPostgresql ? 2 : 1;

test(
  "gateways that stop one after another, under load, fail no request and lose nothing",
  async () => {
    await using database = await newDatabase();
    const { requests, acknowledged, sentElsewhere, sentAgain, ...found } = await restartInTurn(database, {
      ...{ gateways, restarts: 1 },
      signal: "SIGTERM",
    });
    expect(found).toEqual({ restarts: 1, failed: [], lost: [], doubled: [], faults: [] });
    expect(acknowledged).toBeGreaterThan(50);
    expect(requests).toBeGreaterThanOrEqual(acknowledged);
    expect(sentElsewhere).toBeLessThan(requests / 10);
    expect(sentAgain).toBeLessThan(requests / 10);
  },
  TIMEOUT_MS,
);

test(
  "after SIGTERM a gateway takes new connections for as long as load balancers need to notice",
  async () => {
    await using database = await newDatabase();
    const gateway = await startGateway({ ...database, env: { DRAIN_SECONDS: "5" } });
    gateway.child.kill("SIGTERM");
    const ask = async (path: string) =>
      (await fetch(gateway.url + path, { headers: { connection: "close" } })).status;
    await expect.poll(() => ask("/ready"), { timeout: 4_000 }).toBe(503);
    expect(await ask("/health")).toBe(200);
    await gateway.kill();
  },
  TIMEOUT_MS,
);

test("who is about to stop says so when asked whether it is ready, serves on, and has clients close their connections", async () => {
  await using server = await startServer();
  expect(await server.get("/ready")).toMatchObject({ status: 200 });
  const drained = server.app.drain(300);
  expect(await server.get("/ready")).toMatchObject({
    status: 503,
    headers: { "retry-after": "1" },
    body: { code: "UNAVAILABLE", error: expect.stringContaining("about to stop") },
  });
  const answer = await fetch(`${server.url}/health`);
  expect([answer.status, answer.headers.get("connection")]).toEqual([200, "close"]);
  await drained;
});
