import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { platform } from "node:os";
import { expect, test } from "vitest";
import { createApp } from "../../src/app.ts";
import { openDatabase } from "../../src/database/open.ts";
import { entities } from "../../src/entities.ts";
import { createListen } from "../../src/http/server.ts";
import { startServer } from "../support/server.ts";

test.skipIf(platform() !== "linux")(
  "on Linux: at each of its addresses the service answers, and closes in good order with requests in flight",
  async () => {
    await using server = await startServer();
    const database = await openDatabase(server.databaseUrl, entities);
    const app = await createApp(database, { corsOrigins: [] }, false);
    const listen = createListen(app);
    let connected = 0;
    app.server.on("connection", () => {
      connected += 1;
    });
    await listen(["127.0.0.1", "127.0.0.2", "192.0.2.1"], 0);
    const { port } = app.server.address() as AddressInfo;
    const ask = (host: string) => fetch(`http://${host}:${port}/ready`).then(({ status }) => status);
    expect([await ask("127.0.0.1"), await ask("127.0.0.2")]).toEqual([200, 200]);
    const { token } = server;
    const writes = Array.from({ length: 20 }, (_, n) =>
      fetch(`http://127.0.0.2:${port}/monitor/log`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ slug: "x", output: n }),
      }).then(({ status }) => status),
    );
    await expect.poll(() => connected, { interval: 1 }).toBe(2 + writes.length);
    await app.close();
    expect(new Set(await Promise.all(writes))).toEqual(new Set([200]));
    await expect(ask("127.0.0.2")).rejects.toThrow();
  },
);

test.skipIf(platform() !== "linux")(
  "on Linux: a service that is closed while it begins to listen listens at none of its addresses",
  async () => {
    await using server = await startServer();
    const database = await openDatabase(server.databaseUrl, entities);
    const app = await createApp(database, { corsOrigins: [] }, false);
    const hosts = Array.from({ length: 20 }, (_, n) => `127.0.0.${n + 1}`);
    let closed: Promise<unknown> | undefined;
    let port = 0;
    app.server.once("listening", () => {
      ({ port } = app.server.address() as AddressInfo);
      closed = app.close();
    });
    await createListen(app)(hosts, 0);
    await closed;
    const grpcPort = await app.listenForGrpc(["127.0.0.1"], 0);
    for (const [host, at] of [
      ...hosts.map((host) => [host, port] as const),
      ["127.0.0.1", grpcPort] as const,
    ])
      await expect(once(connect(at, host), "connect"), `${host}:${at}`).rejects.toThrow("ECONNREFUSED");
  },
);
