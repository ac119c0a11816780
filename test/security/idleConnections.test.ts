import { once } from "node:events";
import { Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, expect, test } from "vitest";
import { addDataset } from "../support/data.ts";
import { startServer } from "../support/server.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());
await addDataset(server, { slug: "rows", columns: [{ name: "a", type: "text" }] });

async function post(agent: Agent, path: string, body: object): Promise<number> {
  const sent = request(server.url + path, {
    method: "POST",
    agent,
    headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
  });
  sent.end(JSON.stringify(body));
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  answer.resume();
  await once(answer, "end");
  return answer.statusCode!;
}

// What it keeps is counted by no limit: 31 connections with 0.7 MB each ended a process with a heap of 512 MB.
test.each([
  ["a log", "/monitor/log", { slug: "x", output: "y" }, 200],
  ["a row", "/datasets/rows/items", { values: { a: "x" } }, 201],
  ["an operation", "/graphql", { query: "{ prompts { nodes { slug } } }" }, 200],
  ["what is refused", "/monitor/log", { slug: 1 }, 400],
])("an idle connection keeps neither its last request nor the answer: %s", async (_, path, body, status) => {
  const kept: WeakRef<IncomingMessage | ServerResponse>[] = [];
  const keep = (...both: [IncomingMessage, ServerResponse]) =>
    kept.push(...both.map((one) => new WeakRef(one)));
  server.app.server.on("request", keep);
  const agents = Array.from({ length: 5 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
  for (const agent of agents) expect(await post(agent, path, body)).toBe(status);
  server.app.server.off("request", keep);
  expect(kept).toHaveLength(10);
  const left = () => {
    collect();
    return kept.filter((one) => one.deref()).length;
  };
  await expect.poll(left, { timeout: 10_000 }).toBe(0);
  for (const agent of agents) agent.destroy();
});
