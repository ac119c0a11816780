import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { headers, prepareDatabase, startGateway } from "../../faults/gateway.ts";
import { newPostgresqlDatabase } from "../support/server.ts";

const message = (type: string, body: string) => {
  const bytes = Buffer.from(body, "latin1");
  const head = Buffer.from(`${type}\0\0\0\0`);
  head.writeUInt32BE(bytes.length + 4, 1);
  return Buffer.concat([head, bytes]);
};
const READY = message("Z", "I");
// As PostgreSQL writes it: https://www.postgresql.org/docs/current/protocol-error-fields.html
const GOING_DOWN = message(
  "E",
  "SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0",
);

/** A network before a server that goes down while `isGoingDown`: each new connection is ended with its first answer. */
async function networkTo(databaseUrl: string) {
  const url = new URL(databaseUrl);
  const place = { host: url.hostname, port: Number(url.port) };
  const sockets = new Set<Socket>();
  const state = { isGoingDown: false, ended: 0 };
  const network = createServer((near) => {
    const far = connect(place);
    for (const socket of [near, far]) sockets.add(socket.on("error", () => {}));
    near.on("data", (bytes) => far.write(bytes)).on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    far.on("data", (bytes) => {
      if (!state.isGoingDown || !bytes.includes(READY)) return near.write(bytes);
      state.ended += 1;
      return near.end(Buffer.concat([bytes, GOING_DOWN]));
    });
  });
  await new Promise<void>((resolve) => network.listen(0, "127.0.0.1", resolve));
  url.port = String((network.address() as AddressInfo).port);
  const disconnect = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    url: url.href,
    state,
    disconnect,
    [Symbol.dispose]: () => {
      disconnect();
      network.close();
    },
  };
}

test("a gateway outlives a server that ends each new connection with its first answer, and then serves again", async () => {
  const own = await newPostgresqlDatabase("bare");
  try {
    await prepareDatabase(own.url);
    using network = await networkTo(own.url);
    const gateway = await startGateway({ databaseUrl: network.url });
    try {
      const body = JSON.stringify({ slug: "p", input: "a", output: "b" });
      const log = () => fetch(`${gateway.url}/monitor/log`, { method: "POST", headers, body });
      expect((await log()).status).toBeLessThan(300);
      network.state.isGoingDown = true;
      network.disconnect();
      await vi.waitFor(async () => {
        const answer = await log();
        expect(answer.status).toBe(503);
        expect(answer.headers.get("retry-after")).toBe("1");
        expect(network.state.ended).toBeGreaterThan(5);
      }, 30_000);
      network.state.isGoingDown = false;
      await vi.waitFor(async () => expect((await log()).status).toBeLessThan(300), 30_000);
      expect(gateway.child.exitCode).toBeNull();
    } finally {
      await gateway.kill();
    }
  } finally {
    await own.drop();
  }
});
