import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test, vi } from "vitest";
import { addDataset } from "../support/data.ts";
import { startServer } from "../support/server.ts";

const columns = [{ name: "a", type: "text" as const }];

test("closing lets an answer that is still going out reach its end, and ends the connection then", async () => {
  await using server = await startServer();
  const rows = Array.from({ length: 4_000 }, (_, n) => ({ values: { a: `${n} ${"x".repeat(5_000)}` } }));
  await addDataset(server, { slug: "large", columns, rows });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.write(`GET /datasets/large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\n\r\n`);
  // The client reads no further than the first bytes, so most of the 20 MB cannot have left when the server must stop.
  await once(socket, "readable");
  const force = vi.spyOn(server.app.server, "closeAllConnections");
  const closed = server.app.close();
  const answer = await text(socket); // ends when the server closes the connection, which the client would keep open
  await closed;
  expect(force).not.toHaveBeenCalled();
  expect(answer).toContain(`3999 ${"x".repeat(5_000)}`);
  expect(answer.endsWith("0\r\n\r\n")).toBe(true);
});

test("closing ends connections that never sent anything without waiting for the grace to pass", async () => {
  await using server = await startServer();
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  await once(socket, "connect");
  await server.get("/health");
  const ended = once(socket, "close");
  socket.resume();
  const force = vi.spyOn(server.app.server, "closeAllConnections");
  await server.app.close();
  await ended;
  expect(force).not.toHaveBeenCalled();
});

test("a client that stops reading holds up the end for no longer than the grace", async () => {
  await using server = await startServer({ graceMs: 1_000 });
  const rows = Array.from({ length: 4_000 }, (_, n) => ({ values: { a: `${n} ${"x".repeat(5_000)}` } }));
  await addDataset(server, { slug: "large", columns, rows });
  const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
  socket.on("error", () => {}); // it is cut, which is what is wanted
  socket.write(`GET /datasets/large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.token}\r\n\r\n`);
  await once(socket, "readable");
  const force = vi.spyOn(server.app.server, "closeAllConnections");
  await server.app.close(); // without the forced end it would wait for the client for ever
  expect(force).toHaveBeenCalledOnce();
  socket.destroy();
});
