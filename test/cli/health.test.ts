import { createServer } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { tmpdir } from "node:os";
import { afterAll, expect, test } from "vitest";
import { runCommand } from "../support/commandLine.ts";
import { freePort } from "../support/postgresServer.ts";
import { startServer } from "../support/server.ts";

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

const health = (port: number | string, host = "127.0.0.1", ...options: string[]) =>
  runCommand(tmpdir(), ["health", ...options], { HOST: host, PORT: String(port) });

test("gabbro health exits with 0 and one sentence when the service is ready", async () => {
  const { port } = new URL(server.url);
  expect(await health(port)).toEqual({
    code: 0,
    stdout: `The service at http://127.0.0.1:${port} is ready.\n`,
    stderr: "",
  });
});

test("gabbro health finds a service that listens on every address", async () => {
  const { port } = new URL(server.url);
  const { code, stdout } = await health(port, "0.0.0.0", "--json");
  expect([code, JSON.parse(stdout)]).toEqual([0, { url: `http://localhost:${port}`, ready: true }]);
});

test("gabbro health exits with 1 and the reason when the service is not ready", async () => {
  const answers = createServer((_, response) => {
    response.writeHead(503, { "content-type": "application/json" });
    response.end(JSON.stringify({ code: "UNAVAILABLE", message: "The database does not answer.\u001b[31m" }));
  });
  await new Promise<void>((resolve) => answers.listen(0, "127.0.0.1", resolve));
  const { port } = answers.address() as AddressInfo;
  expect(await health(port)).toEqual({
    code: 1,
    stdout: "",
    stderr: `gabbro: The service at http://127.0.0.1:${port} is not ready: it answers with 503. The database does not answer.\\u001b[31m\n`,
  });
  answers.close();
});

test("gabbro health exits with 1 when nothing listens, and when the port is not known", async () => {
  const port = await freePort();
  expect(await health(port)).toEqual({
    code: 1,
    stdout: "",
    stderr: `gabbro: Nothing answers on port ${port} of 127.0.0.1: ECONNREFUSED.\n`,
  });
  expect(await health(0)).toMatchObject({ code: 1, stderr: expect.stringContaining("PORT is 0") });
});

test("gabbro health exits with 1 when what listens does not answer within five seconds", async () => {
  const silent = createSocketServer((socket) => socket.on("error", () => {}));
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const { port } = silent.address() as AddressInfo;
  expect(await health(port)).toMatchObject({
    code: 1,
    stderr: `gabbro: Nothing answers on port ${port} of 127.0.0.1: not within 5 seconds.\n`,
  });
  silent.close();
});
