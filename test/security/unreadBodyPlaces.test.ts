import { once } from "node:events";
import { connect } from "node:net";
import { expect, test, vi } from "vitest";
import { addDataset } from "../support/data.ts";
import { type Server, startServer } from "../support/server.ts";

/** Sends the head of a request with a body on a connection of its own; returns the first line of the answer. */
async function ask({ url, token }: Server, [line, ...headers]: string[], body = ""): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  const head = [`${line} HTTP/1.1`, "Host: x", `Authorization: Bearer ${token}`, ...headers];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
  const [bytes] = await once(socket, "data");
  socket.destroy();
  return String(bytes).split("\r\n")[0]!;
}

const CHUNKED = "Transfer-Encoding: chunked";
const CHUNKS = "5\r\nhello\r\n0\r\n\r\n";
/** More than a workspace has places. */
const MANY = 70;

test.each([
  ["GET /datasets/rows", "200 OK"],
  ["HEAD /datasets/rows", "200 OK"],
  ["GET /graphql?query=%7B__typename%7D", "200 OK"],
  ["TRACE /nowhere", "404 Not Found"],
  ["POST /monitor/log", "415 Unsupported Media Type"],
])("%s with a body that nobody reads keeps no other request waiting afterwards", async (line, answer) => {
  await using server = await startServer();
  await addDataset(server, { slug: "rows", columns: [{ name: "a", type: "text" }] });
  for (let n = 0; n < MANY; n++)
    expect(await ask(server, [line, CHUNKED], CHUNKS), `number ${n}`).toBe(`HTTP/1.1 ${answer}`);
  expect((await server.get("/datasets/rows")).status).toBe(200);
  expect((await server.post("/monitor/log", { slug: "a", output: "b" })).status).toBe(200);
});

test("requests without a token, with a body that nobody reads, keep no caller out whose token is new", async () => {
  await using server = await startServer();
  for (let n = 0; n < MANY; n++) {
    const answer = await ask({ ...server, token: "none" }, ["GET /openapi.json", CHUNKED], CHUNKS);
    expect(answer, `number ${n}`).toBe("HTTP/1.1 200 OK");
  }
  expect((await server.get("/datasets")).status).toBe(200);
});

test("a request whose body nobody reads has no more time because that does not come", async () => {
  await using server = await startServer({ timeLimitMs: 300 });
  vi.spyOn(server.database, "rows").mockImplementation(() => new Promise(() => {}));
  const answer = await ask(server, ["GET /prompts/unknown/describe", "Content-Length: 5"]);
  expect(answer).toBe("HTTP/1.1 503 Service Unavailable");
  vi.restoreAllMocks();
});
