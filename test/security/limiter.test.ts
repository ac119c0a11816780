import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { createEventLoopSlots, type Place, whileWaiting } from "../../src/limits/eventLoop.ts";
import { addPrompt, addWorkspace } from "../support/data.ts";
import { openEvents } from "../support/events.ts";
import { announced, fileOf, put } from "../support/files.ts";
import { type Server, startServer } from "../support/server.ts";

const METRICS_TOKEN = "a token for the metrics only";
/** A busy machine takes its time. */
const PATIENT = { timeout: 20_000 };

/** A request whose body does not come to its end. */
function openUnfinished({ url }: Server, token: string | null): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {}); // it is cut
  const authorization = token === null ? "" : `Authorization: Bearer ${token}\r\n`;
  const head = `POST /monitor/log HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: application/json\r\n`;
  socket.write(`${head}Content-Length: 100\r\n\r\n{"slug"`);
  return socket;
}

const statusOf = async ({ url }: Server, token: string) =>
  (await fetch(`${url}/datasets`, { headers: { authorization: `Bearer ${token}` } })).status;

async function inFlight({ url }: Server): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  return Number(/^gabbro_requests_in_flight (\d+)$/m.exec(await answer.text())![1]);
}

test("a workspace that is alone may have all requests in flight, and gets no other one refused by that", async () => {
  await using server = await startServer({ limits: { maxInFlight: 8 }, metricsToken: METRICS_TOKEN });
  const other = await addWorkspace(server, "other");
  const held = Array.from({ length: 9 }, () => openUnfinished(server, server.token));
  await Promise.race(held.map((socket) => once(socket, "data"))); // one is refused, so the others have all
  expect(await inFlight(server)).toBe(8);
  expect(await statusOf(server, server.token)).toBe(503);
  await expect.poll(() => statusOf(server, other.token), PATIENT).toBe(200);
  for (const socket of held) socket.destroy();
  await expect.poll(() => inFlight(server), PATIENT).toBe(0);
  expect(await statusOf(server, server.token)).toBe(200);
});

test("bodies of more than 4 kB count as such, and take a place before they are parsed", async () => {
  await using server = await startServer({ limits: { maxBodyBytes: 4_200 } });
  const statusOf = async (characters: number) =>
    (await server.post("/monitor/log", { slug: "a", output: "x".repeat(characters) })).status;
  expect(await statusOf(4_000)).toBe(200);
  expect(await statusOf(4_300)).toBe(503);
});

test("no workspace has more than half of the requests in flight while another has any", async () => {
  await using server = await startServer({ limits: { maxInFlight: 8 }, metricsToken: METRICS_TOKEN });
  const other = await addWorkspace(server, "other");
  const held = [openUnfinished(server, other.token)];
  await expect.poll(() => inFlight(server), PATIENT).toBe(1);
  const own = Array.from({ length: 5 }, () => openUnfinished(server, server.token));
  held.push(...own);
  const [refusal] = await Promise.race(own.map((socket) => once(socket, "data"))); // so half of eight are taken
  expect(`${refusal}`).toMatch(/^HTTP\/1\.1 503 /);
  expect(await inFlight(server)).toBe(5);
  expect(await statusOf(server, server.token)).toBe(503);
  expect(await statusOf(server, other.token)).toBe(200);
  for (const socket of held) socket.destroy();
});

test("who has no token is answered before a body is read, and holds nothing", async () => {
  await using server = await startServer({ limits: { maxInFlight: 4 }, metricsToken: METRICS_TOKEN });
  const held: Socket[] = [];
  for (let n = 0; n < 40; n++) {
    const socket = openUnfinished(server, null);
    held.push(socket);
    expect(`${(await once(socket, "data"))[0]}`).toMatch(/^HTTP\/1\.1 401 /);
  }
  expect(await inFlight(server)).toBe(0);
  expect(await statusOf(server, server.token)).toBe(200);
  for (const socket of held) socket.destroy();
});

/** Asks for a page on so many connections together, so that all are in flight when the first one takes its place. */
async function askTogether({ url }: Server, count: number, path: string) {
  const { hostname, port } = new URL(url);
  const open = async () => {
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    return socket;
  };
  const sockets = await Promise.all(Array.from({ length: count }, open));
  const answers = sockets.map(async (socket) => {
    const [head] = await once(socket, "data");
    socket.destroy();
    return Number(`${head}`.slice(9, 12));
  });
  for (const socket of sockets) socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  return { statuses: () => Promise.all(answers) };
}

test("who loads pages that need no token takes no place of who has one, and more than 20 at once are refused", async () => {
  await using server = await startServer({ limits: { maxInFlight: 30 } });
  await (await fetch(`${server.url}/openapi.json`)).arrayBuffer();
  const loads = await askTogether(server, 200, "/openapi.json");
  const statuses = Array.from({ length: 20 }, () => statusOf(server, server.token));
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]));
  expect(new Set(await loads.statuses())).toEqual(new Set([200, 503]));
});

test("the assets of GraphiQL, which wait until they are packed, keep no page from those who load it", async () => {
  await using server = await startServer();
  const loads = await askTogether(server, 60, "/graphql/assets/boot.js");
  const page = fetch(`${server.url}/docs`);
  expect(new Set(await loads.statuses())).toEqual(new Set([200]));
  expect((await page).status).toBe(200);
});

test("a download is in flight until it is read, also of a file that is announced as events", async () => {
  await using server = await startServer({ metricsToken: METRICS_TOKEN });
  const { uploadUrl, fileKey } = await announced(server, { contentType: "text/event-stream" });
  await put(uploadUrl, Buffer.alloc(10 * 1024 * 1024), "text/event-stream");
  const { downloadUrl } = await fileOf(server, fileKey);
  const { hostname, port, pathname, search } = new URL(downloadUrl);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: x\r\n\r\n`);
  await once(socket, "readable");
  expect(`${socket.read(12)}`).toBe("HTTP/1.1 200");
  expect(await inFlight(server)).toBe(1);
  socket.destroy();
  await expect.poll(() => inFlight(server), PATIENT).toBe(0);
});

test("a stream of events of a prompt is in flight only until it begins", async () => {
  await using server = await startServer({ limits: { maxInFlight: 4 }, metricsToken: METRICS_TOKEN });
  await addPrompt(server, { slug: "followed", versions: [{ version: "1" }], tags: { production: "1" } });
  const streams = [];
  for (let n = 0; n < 8; n++) streams.push(await openEvents(server, "/prompts/followed/events"));
  for (const stream of streams) expect(await stream.next()).toMatchObject({ version: "1" });
  expect(await inFlight(server)).toBe(0);
  expect(await statusOf(server, server.token)).toBe(200);
  for (const stream of streams) await stream[Symbol.asyncDispose]();
});

const FOR_EVER = `${"{% for i in range(1000) %}".repeat(5)}${"{% endfor %}".repeat(5)}`;

test("requests that wait for a worker keep no other out of the same workspace", async () => {
  await using server = await startServer({ limits: { maxInFlight: 20 }, metricsToken: METRICS_TOKEN });
  await addPrompt(server, { slug: "slow" });
  const input = { version: "1", text: FOR_EVER };
  const add =
    'mutation ($input: PromptVersionInput!) { createPromptVersion(slug: "slow", input: $input) { __typename } }';
  expect((await server.graphql(add, { input })).body.errors).toBeUndefined();
  const waiting = new AbortController();
  const query = '{ renderPrompt(slug: "slow", tag: "latest") { text } }';
  const render = () =>
    fetch(`${server.url}/graphql`, {
      ...{ method: "POST", signal: waiting.signal, body: JSON.stringify({ query }) },
      headers: { authorization: `Bearer ${server.token}`, "content-type": "application/json" },
    }).catch(() => {}); // broken off below
  const renders = [];
  for (let n = 1; n <= 12; n++) {
    renders.push(render());
    await expect.poll(() => inFlight(server), PATIENT).toBe(n);
  }
  for (let n = 0; n < 20; n++) expect(await statusOf(server, server.token)).toBe(200);
  expect(await inFlight(server)).toBeGreaterThan(4);
  waiting.abort();
  await Promise.all(renders);
});

test("no more requests of a workspace than it has places use the event loop; those that wait for a worker take none", async () => {
  const { enter } = createEventLoopSlots(2);
  const worker = Promise.withResolvers<void>();
  let [atWork, maxAtWork, ended] = [0, 0, 0];
  const useEventLoop = async () => {
    atWork += 1;
    maxAtWork = Math.max(maxAtWork, atWork);
    await nextTurn();
    await nextTurn();
    atWork -= 1;
  };
  const work = async (waits: boolean) => {
    if (waits) await whileWaiting(() => worker.promise);
    await useEventLoop();
    place(waits).end();
    ended += 1;
  };
  const places = new Map<boolean, Place[]>([true, false].map((waits) => [waits, []]));
  const place = (waits: boolean) => places.get(waits)!.shift()!;
  for (const waits of [...Array(5).fill(true), ...Array(20).fill(false)])
    places.get(waits)!.push(enter("one", () => queueMicrotask(() => void work(waits))));
  await expect.poll(() => ended, PATIENT).toBe(20);
  expect(maxAtWork).toBe(2);
  worker.resolve();
  await expect.poll(() => ended, PATIENT).toBe(25);
});

test("of requests of one workspace that wait for nothing, no more follow one another in a turn than take 10 ms", async () => {
  const { enter } = createEventLoopSlots(1_000);
  const began: string[] = [];
  const enterFor = (workspaceId: string) => {
    const work = async () => {
      await Promise.resolve();
      began.push(workspaceId);
      const untilMs = performance.now() + 3;
      while (performance.now() < untilMs);
      place.end();
    };
    const place = enter(workspaceId, () => void work());
  };
  for (let n = 0; n < 100; n++) setImmediate(enterFor, "one");
  setImmediate(enterFor, "other");
  await expect.poll(() => began.length, PATIENT).toBe(101);
  expect(began.indexOf("other")).toBeLessThan(10);
});
