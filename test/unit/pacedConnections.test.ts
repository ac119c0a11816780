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
