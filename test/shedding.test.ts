import { once } from "node:events";
import { Agent, type IncomingMessage, request as send } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { platform } from "node:os";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { createListen } from "../src/connections.ts";
import { openDatabase } from "../src/database/open.ts";
import { createServer, type Settings } from "../src/server.ts";
import { CALM_MS, createDivision, LEAVING } from "../src/shedding.ts";
import { runOrder } from "../torture/openLoop.ts";
import { startServer } from "./server.ts";

// The long form: npm run torture -- overload

const onLinux = test.skipIf(platform() !== "linux"); // elsewhere one thread does it all
const ORIGIN = "https://app.example";
const METRICS_TOKEN = "a token for the metrics only";

/** A server that listens as the program does; what is sent to /datasets waits until it is released. */
async function startShared(settings: Partial<Settings> = {}) {
  const own = await startServer();
  const database = await openDatabase(own.databaseUrl);
  const lines: string[] = [];
  const logger = { level: "warn", stream: { write: (line: string) => void lines.push(line) } };
  const limits = { mostWaiting: 4, soonMs: 0 };
  const given = { limits, corsOrigins: [ORIGIN], metricsToken: METRICS_TOKEN, ...settings };
  const app = await createServer(database, given, logger);
  let held = Promise.withResolvers<void>();
  let heldCount = 0;
  app.addHook("preHandler", async ({ url }) => {
    if (url !== "/datasets") return;
    heldCount += 1;
    await held.promise;
    heldCount -= 1;
  });
  // Ports are used again: what counts is when.
  const seenAtMain = new Map<number, number>();
  app.server.on("connection", ({ remotePort }) => seenAtMain.set(remotePort!, performance.now()));
  const threads = new WeakMap<Socket, "main" | "second">();
  await createListen(app)(["127.0.0.1"], 0);
  const { port } = app.server.address() as AddressInfo;
  const agents: Agent[] = [];
  const newAgent = () => {
    const agent = new Agent({ keepAlive: true });
    agents.push(agent);
    return agent;
  };
  const ask = async (path: string, known?: Agent, token = own.token) => {
    const agent = known ?? newAgent();
    const headers = { authorization: `Bearer ${token}`, ...(!known && { origin: ORIGIN }) };
    const begun = performance.now();
    const asking = send({ host: "127.0.0.1", port, path, agent, headers }).end();
    const [answer] = (await once(asking, "response")) as [IncomingMessage];
    const { statusCode: status, headers: all } = answer;
    const { date: _, connection, "keep-alive": __, ...told } = all;
    const { socket } = answer;
    const isSeen = (seenAtMain.get(socket.localPort!) ?? 0) > begun;
    const thread = threads.get(socket) ?? (isSeen ? "main" : "second");
    threads.set(socket, thread);
    return { status, told, body: await text(answer), thread, connection, agent };
  };
  const hold = async (count: number) => {
    const own = Promise.withResolvers<void>();
    held = own;
    const before = heldCount;
    const waiting = Array.from({ length: count }, () => ask("/datasets"));
    await expect.poll(() => heldCount, { timeout: 10_000 }).toBe(before + count);
    return {
      end: async () => {
        own.resolve();
        return (await Promise.all(waiting)).map(({ status }) => status);
      },
    };
  };
  return {
    app,
    ask,
    lines,
    url: `http://127.0.0.1:${port}`,
    token: own.token,
    /** Has as many wait as may, and everybody else be refused. */
    overload: async () => {
      const all = await hold(limits.mostWaiting);
      expect((await ask("/openapi.json")).status).toBe(503);
      return all;
    },
    hold,
    [Symbol.asyncDispose]: async () => {
      held.resolve();
      for (const agent of agents) agent.destroy();
      await app.close();
      await own[Symbol.asyncDispose]();
    },
  };
}

type Shared = Awaited<ReturnType<typeof startShared>>;

/** An answer of a thread, of the many that newcomers get, on a connection that it keeps. */
async function answerOf(server: Shared, thread: "main" | "second") {
  for (;;) {
    const answers = await Promise.all(Array.from({ length: 10 }, () => server.ask("/openapi.json")));
    const found = answers.find((answer) => answer.thread === thread && answer.connection === "keep-alive");
    // On a fast machine there are more newcomers in a second than a process may have files.
    for (const { agent } of answers) if (agent !== found?.agent) agent.destroy();
    if (found) return found;
  }
}

onLinux("on Linux: under overload two threads refuse, in the same words, and both are counted", async () => {
  await using server = await startShared();
  const overload = await server.overload();
  const second = await answerOf(server, "second");
  const main = await answerOf(server, "main");
  const form = ({ status, told, body }: typeof main) => ({ status, told, body });
  expect(form(second)).toEqual(form(main));
  expect(second.status).toBe(503);
  expect(second.told["access-control-allow-origin"]).toBe(ORIGIN);
  const countOf = async () => {
    const { body } = await server.ask("/metrics", undefined, METRICS_TOKEN);
    return Number(/^gabbro_refused_requests_total (\d+)$/m.exec(body)![1]);
  };
  const before = await countOf();
  const { agent } = second;
  for (let n = 0; n < 20; n++) expect((await server.ask("/openapi.json", agent)).status).toBe(503);
  expect(await countOf()).toBe(before + 20);
  await expect.poll(() => server.lines.join(""), { timeout: 10_000 }).toContain("overloaded");
  expect(await overload.end()).toEqual([200, 200, 200, 200]);
});

onLinux(
  "on Linux: who asks how the service fares is told, whichever thread the system has chosen",
  async () => {
    await using server = await startShared();
    const overload = await server.overload();
    await answerOf(server, "second");
    const answers = await Promise.all(Array.from({ length: 40 }, () => server.ask("/ready")));
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(JSON.parse(body)).toEqual(JSON.parse(answers[0]!.body));
    }
    // The second thread does not keep who came for that.
    const kept = answers.filter(({ thread, connection }) => thread === "second" && connection !== "close");
    expect(kept).toEqual([]);
    expect(new Set(answers.map(({ thread }) => thread))).toEqual(new Set(["main", "second"]));
    const { status, body } = await server.ask("/metrics", undefined, "not the token");
    expect([status, JSON.parse(body).code]).toEqual([401, "UNAUTHENTICATED"]);
    await overload.end();
    await overload.end();
  },
);

onLinux("on Linux: who is answered by a thread with too much to do is sent to the other one", async () => {
  await using server = await startShared();
  const overload = await server.overload();
  await answerOf(server, "second");
  for (const path of ["/openapi.json", "/health"]) {
    const isSentAway = async () => {
      await Promise.all(Array.from({ length: 20 }, () => server.ask("/openapi.json"))); // so that main refuses
      const { thread, connection, status } = await server.ask(path);
      expect(status).toBe(path === "/health" ? 200 : 503);
      return thread === "main" && connection === "close";
    };
    await expect.poll(isSentAway, { timeout: 10_000 }).toBe(true);
  }
  await overload.end();
});

onLinux(
  "on Linux: once the overload is over everybody is served, after one more refusal at most",
  async () => {
    await using server = await startShared();
    const overload = await server.overload();
    const agents: Agent[] = [];
    while (agents.length < 40) {
      const { agent } = await answerOf(server, "second");
      // What comes third on a connection is refused before Node.js reads it.
      const answers = [await server.ask("/openapi.json", agent), await server.ask("/openapi.json", agent)];
      if (answers.every(({ connection }) => connection !== "close")) agents.push(agent);
    }
    await overload.end();
    const newcomers = () => Promise.all(Array.from({ length: 20 }, () => server.ask("/openapi.json")));
    const refused = async () => (await newcomers()).filter(({ status }) => status !== 200).length;
    await expect.poll(refused, { timeout: CALM_MS + 10_000 }).toBe(0);
    for (const agent of agents) {
      const { status, connection } = await server.ask("/openapi.json", agent);
      expect(status === 200 || connection === "close").toBe(true);
      expect((await server.ask("/openapi.json", agent)).status).toBe(200);
    }
    const again = await server.overload();
    await answerOf(server, "second");
    await again.end();
  },
);

onLinux(
  "on Linux: however much is served, newcomers are refused no longer than anybody must be",
  async () => {
    await using server = await startShared();
    const some = await server.hold(3);
    const one = await server.hold(1); // which is as many as may wait
    expect((await server.ask("/openapi.json")).status).toBe(503);
    await answerOf(server, "second");
    await one.end();
    const refused = async () => {
      const answers = await Promise.all(Array.from({ length: 24 }, () => server.ask("/health")));
      const { status } = await server.ask("/openapi.json");
      return status !== 200 || answers.some(({ thread }) => thread === "second");
    };
    await expect.poll(refused, { timeout: CALM_MS + 10_000 }).toBe(false);
    for (let n = 0; n < 5; n++) expect(await refused()).toBe(false);
    await some.end();
  },
);

onLinux("on Linux: who sends a body piece by piece is told of the refusal, and not cut off", async () => {
  await using server = await startShared();
  const overload = await server.overload();
  await answerOf(server, "second");
  const upload = async () => {
    const { port } = new URL(server.url);
    const socket = connect(Number(port), "127.0.0.1");
    socket.write("POST /monitor/log HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n");
    let isCut = false;
    socket.on("error", () => {}).once("close", () => (isCut = true));
    const answer = once(socket, "data");
    for (let n = 0; n < 6; n++) {
      await wait(5);
      socket.write("x".repeat(10_000));
    }
    const [told] = await answer;
    await wait(5);
    const whole = `${String(told).slice(0, 12)} ${isCut ? "cut off" : "whole"}`;
    socket.destroy();
    return whole;
  };
  const many = async () => {
    const refusing = Array.from({ length: 10 }, () => server.ask("/openapi.json")); // so that main refuses
    const told = await Promise.all(Array.from({ length: 10 }, upload));
    await Promise.all(refusing);
    return told;
  };
  for (let n = 0; n < 10; n++) expect(new Set(await many())).toEqual(new Set(["HTTP/1.1 503 whole"]));
  await overload.end();
});

onLinux("on Linux: a crowd that is soon served is refused by the main thread alone", async () => {
  await using server = await startShared();
  for (let n = 0; n < 4; n++) {
    const crowd = await server.overload();
    await wait(200);
    expect((await server.ask("/openapi.json")).status).toBe(503);
    await crowd.end();
    await wait(300);
  }
  const crowd = await server.overload();
  for (let n = 0; n < 40; n++) expect(await server.ask("/openapi.json")).toMatchObject({ thread: "main" });
  await crowd.end();
});

onLinux(
  "on Linux: the second thread cuts off who sends a head for too long, and who says nothing once it is over",
  async () => {
    await using server = await startShared();
    const overload = await server.overload();
    await answerOf(server, "second");
    const { port } = new URL(server.url);
    const silent = Array.from({ length: 20 }, () => connect(Number(port), "127.0.0.1"));
    const slow = Array.from({ length: 20 }, () => connect(Number(port), "127.0.0.1"));
    for (const socket of slow) socket.write("GET /openapi.json HTTP/1.1\r\nHost");
    const closed = (sockets: Socket[]) =>
      Promise.all(sockets.map((socket) => once(socket.resume(), "close")));
    const bothClosed = Promise.all([closed(slow), closed(silent)]);
    await overload.end();
    // Some of them were at the second thread; the main one waits for the 10 s of whoever is slow.
    const closedCount = () => silent.filter((socket) => socket.closed).length;
    await expect.poll(closedCount, { timeout: 6_000 }).toBeGreaterThan(0);
    await bothClosed;
  },
);

onLinux("on Linux: under many callers connections change threads, and no request is lost", async () => {
  await using server = await startShared({ limits: { mostWaiting: 20 } });
  let connected = 0;
  server.app.server.on("connection", () => (connected += 1));
  const callers = 200;
  const { url, token } = server;
  const order = { url, token, mix: "served", deadlineMs: 30_000, connections: callers, seconds: 3 } as const;
  const found = await runOrder(order);
  expect(found).toMatchObject({ wrong: 0, unanswered: 0, late: 0 });
  expect(found.good).toBeGreaterThan(20);
  expect(found.refused).toBeGreaterThan(20);
  expect(connected).toBeGreaterThan(callers);
});

onLinux("on Linux: a service that is about to stop takes newcomers by one thread again", async () => {
  await using server = await startShared();
  const overload = await server.overload();
  await answerOf(server, "second");
  await server.app.drain(0);
  let connected = 0;
  server.app.server.on("connection", () => (connected += 1));
  const takenByMain = async () => {
    connected = 0;
    for (let n = 0; n < 20; n++)
      expect(await server.ask("/openapi.json")).toMatchObject({ status: 503, connection: "close" });
    return connected;
  };
  await expect.poll(takenByMain, { timeout: 10_000 }).toBe(20);
  expect(await takenByMain()).toBe(20);
  await overload.end();
});

onLinux("on Linux: closing ends both threads, and its address is free", async () => {
  await using server = await startShared();
  const overload = await server.overload();
  const { agent } = await answerOf(server, "second");
  const closed = server.app.close();
  await overload.end();
  await closed;
  for (const path of ["/health", "/openapi.json"])
    await expect(server.ask(path, agent)).rejects.toThrow(/ECONNREFUSED|ECONNRESET|socket hang up/);
});

onLinux("on Linux: where a second thread cannot listen the main one refuses alone, and says so", async () => {
  await using server = await startShared();
  server.app.share({ address: "192.0.2.1", family: "IPv4", port: 1 });
  const overload = await server.overload();
  const afterRefusing = async () => {
    await server.ask("/openapi.json");
    return server.lines.join("");
  };
  await expect.poll(afterRefusing, { timeout: 10_000 }).toContain("the thread that refuses has died");
  for (let n = 0; n < 20; n++)
    expect(await server.ask("/openapi.json")).toMatchObject({ status: 503, thread: "main" });
  expect(server.lines.filter((line) => line.includes("has died"))).toHaveLength(1);
  await wait(500); // for others to start, and die
  expect(server.lines.filter((line) => line.includes("has died"))).toHaveLength(1);
  expect(await overload.end()).toEqual([200, 200, 200, 200]);
  expect((await server.ask("/openapi.json")).status).toBe(200);
});

test("each thread sends away the more, the more the other one could do, and nobody is refused for ever", () => {
  const counts = new Int32Array(2);
  const division = createDivision(counts);
  const leaving = (load: number) => {
    division.adjust({ load, usual: 200, refusedCount: 0 });
    let fromMain = 0;
    while (division.takeLeave()) fromMain += 1;
    return { fromMain, fromSecond: counts[LEAVING] };
  };
  expect(leaving(0)).toEqual({ fromMain: 0, fromSecond: 20 });
  expect(leaving(50)).toEqual({ fromMain: 0, fromSecond: 10 });
  expect(leaving(150)).toEqual({ fromMain: 0, fromSecond: 1 });
  expect(leaving(400)).toEqual({ fromMain: 5, fromSecond: 1 });
  expect(leaving(1_000)).toEqual({ fromMain: 20, fromSecond: 1 });
  division.refused();
  expect(leaving(0)).toEqual({ fromMain: 60, fromSecond: 1 });
  expect(leaving(0)).toEqual({ fromMain: 0, fromSecond: 20 });
});

test("an overload is over once nobody is refused but who is sent to a thread that refuses nobody", async () => {
  const division = createDivision(new Int32Array(2));
  const calmMs = async (refusedCount: number) => {
    await wait(20);
    return division.adjust({ load: 150, usual: 200, refusedCount });
  };
  for (const n of [2, 100, 2]) expect([n, await calmMs(n)]).toEqual([n, 0]);
  expect(await calmMs(1)).toBe(0); // from now on
  expect(await calmMs(1)).toBeGreaterThan(15);
  expect(await calmMs(0)).toBeGreaterThan(30);
  division.refused();
  expect(await calmMs(0)).toBe(0);
});
