import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { createPacer } from "../../src/http/pacedConnections.ts";

test("a connection of which the client ends its half closes without an end, behind which HTTP/2 may write nothing", async () => {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const client = connect((listener.address() as AddressInfo).port, "127.0.0.1");
  const [socket] = (await once(listener, "connection")) as [Socket];
  const connection = createPacer()(socket).resume();
  const seen: string[] = [];
  for (const event of ["end", "close"]) connection.once(event, () => seen.push(event));
  client.end(Buffer.alloc(1_000)); // empty frames
  await once(connection, "close");
  expect(seen).toEqual(["close"]);
  listener.close();
});

test("connections of a workspace are read in turn with all those that had no valid token together", async () => {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const paced = createPacer();
  const order: string[] = [];
  const open = async (name: string, workspaceId: string) => {
    const client = connect((listener.address() as AddressInfo).port, "127.0.0.1");
    const [socket] = (await once(listener, "connection")) as [Socket];
    const connection = paced(socket);
    connection.workspaceId = workspaceId;
    connection.on("data", () => order.push(name));
    client.write(Buffer.alloc(24 + 9 * 64 * 4)); // its preface, and empty frames for four slices
    return () => client.destroy();
  };
  const unknown = await Promise.all(Array.from({ length: 20 }, () => open("unknown", "")));
  const known = await open("known", "workspace");
  await expect.poll(() => order.length).toBe(21 * 4);
  const from = order.indexOf("known");
  expect(order.slice(from, order.lastIndexOf("known") + 1)).toHaveLength(7); // every second one is its own
  for (const close of [...unknown, known]) close();
  listener.close();
});
