import { once } from "node:events";
import { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { expect, test, vi } from "vitest";
import { writeQueueOf } from "../../src/database/writeQueue.ts";
import { createTokenAuthentication } from "../../src/workspaces/authentication.resolvers.ts";
import { commandLineContext, getWorkspaceId } from "../../src/workspaces/resolvers.ts";
import { revokeAccessToken } from "../../src/workspaces/tokens.resolvers.ts";
import { generateToken } from "../../src/workspaces/tokens.ts";
import { addToken } from "../support/data.ts";
import { isOnPostgresql, type Server, startServer } from "../support/server.ts";
import { countTurns } from "../support/turns.ts";

const METRICS_TOKEN = "a token for the metrics only";

function connectTo({ url }: Server): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {}); // it is cut
  return socket;
}

const ask = (socket: Socket, head: string) => socket.write(`${head}\r\nHost: x\r\n\r\n`);

function open(server: Server, head: string): Socket {
  const socket = connectTo(server);
  ask(socket, head);
  return socket;
}

const connectionsOf = ({ app }: Server) =>
  new Promise<number>((resolve) => app.server.getConnections((_, count) => resolve(count)));

const bearer = (token: string) => `Authorization: Bearer ${token}`;
const askWith = (server: Server, token: string) => open(server, `GET /datasets HTTP/1.1\r\n${bearer(token)}`);
const statusOf = async (socket: Socket) => Number(`${(await once(socket, "data"))[0]}`.split(" ")[1]);

/** Has statements that look tokens up wait; tells how many tokens each of them looks up. */
function holdLookups({ database }: Server) {
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  const lookedUp: number[] = [];
  const { read } = database;
  const selectFrom = read.selectFrom.bind(read);
  const spy = vi.spyOn(read, "selectFrom").mockImplementation(((table: "AccessToken") => {
    const query = selectFrom(table);
    if (table !== "AccessToken") return query;
    return {
      select: (...columns: Parameters<typeof query.select>) => ({
        where: (column: "hash", operator: "in", hashes: string[]) => ({
          execute: async () => {
            lookedUp.push(hashes.length);
            await mayGoOn;
            return query
              .select(...columns)
              .where(column, operator, hashes)
              .execute();
          },
        }),
      }),
    };
  }) as never);
  return { lookedUp, goOn, restore: () => spy.mockRestore() };
}

async function inFlight({ url }: Server): Promise<number> {
  const answer = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${METRICS_TOKEN}` } });
  return Number(/^gabbro_requests_in_flight (\d+)$/m.exec(await answer.text())![1]);
}

test("who was authenticated before is served while tokens of others are looked up, one statement at a time for all of them", async () => {
  await using server = await startServer({ limits: { maxInFlight: 6 }, metricsToken: METRICS_TOKEN });
  const { generation } = server.database;
  // Before it hears of other processes, no access is reused.
  await expect.poll(() => new Set([generation.now(), generation.now()]).size).toBe(1);
  expect(await statusOf(askWith(server, server.token))).toBe(200);
  const { lookedUp, goOn, restore } = holdLookups(server);
  const unknown = [askWith(server, generateToken())];
  await expect.poll(() => lookedUp).toEqual([1]);
  for (let n = 0; n < 5; n++) unknown.push(askWith(server, generateToken()));
  await expect.poll(() => inFlight(server)).toBe(6);
  expect(await statusOf(askWith(server, generateToken()))).toBe(503);
  for (let n = 0; n < 10; n++) expect(await statusOf(askWith(server, server.token))).toBe(200);
  expect(lookedUp).toEqual([1]);
  goOn();
  expect(await Promise.all(unknown.map(statusOf))).toEqual(Array(6).fill(401));
  expect(lookedUp).toEqual([1, 5]);
  restore();
});

test("callers without a valid token have places by their addresses: nobody takes those of all others", async () => {
  await using server = await startServer({
    ...{ limits: { maxInFlight: 6 }, metricsToken: METRICS_TOKEN, trustedProxies: ["127.0.0.1"] },
  });
  const { lookedUp, goOn, restore } = holdLookups(server);
  const from = (address: string) =>
    open(server, `GET /datasets HTTP/1.1\r\nX-Forwarded-For: ${address}\r\n${bearer(generateToken())}`);
  const all = Array.from({ length: 6 }, () => from("192.0.2.1"));
  await expect.poll(() => inFlight(server)).toBe(6);
  expect(await statusOf(from("192.0.2.1"))).toBe(503);
  const other = from("192.0.2.2");
  await expect.poll(() => inFlight(server)).toBe(7);
  goOn();
  expect(await Promise.all([other, ...all].map(statusOf))).toEqual(Array(7).fill(401));
  expect(lookedUp.length).toBeGreaterThan(0);
  restore();
});

const answered: [who: string, head: string, status: number][] = [
  ["without a token", "GET /datasets HTTP/1.1", 401],
  // On PostgreSQL a statement answers for up to 64 of them.
  ...(isOnPostgresql
    ? []
    : ([
        ["with an unknown token", `GET /datasets HTTP/1.1\r\n${bearer(generateToken())}`, 401],
        ["of monitors for /ready", "GET /ready HTTP/1.1", 200],
      ] as never[])),
  ["for a path that does not exist", "POST /nowhere HTTP/1.1\r\nContent-Length: 0", 404],
  ["for such a path with a valid token", "POST /nowhere HTTP/1.1\r\nContent-Length: 0\r\n$token", 404],
  ["with an invalid URL", "GET /%zz HTTP/1.1", 400],
  ["of monitors for /health", "GET /health HTTP/1.1", 200],
  ["of monitors for /metrics", "GET /metrics HTTP/1.1", 401],
];
/** Has each answer take 6 ms from now on, and counts them by turns of the event loop until `mostInATurn` is asked. */
function countSlowAnswers() {
  const turns = countTurns();
  const answeredIn: number[] = [];
  const { writeHead } = ServerResponse.prototype;
  vi.spyOn(ServerResponse.prototype, "writeHead").mockImplementation(function (
    this: ServerResponse,
    ...args: unknown[]
  ) {
    const untilMs = performance.now() + 6;
    while (performance.now() < untilMs);
    answeredIn.push(turns.now());
    return writeHead.apply(this, args as Parameters<typeof writeHead>);
  });
  return {
    mostInATurn: (): number => {
      turns.stop();
      vi.restoreAllMocks();
      const inTurn = Map.groupBy(answeredIn, (turn) => turn);
      return Math.max(...[...inTurn.values()].map(({ length }) => length));
    },
  };
}

test.each(answered)(
  "requests %s are answered for 10 ms a turn of the event loop",
  async (_, head, status) => {
    await using server = await startServer({ metricsToken: METRICS_TOKEN });
    expect(await statusOf(askWith(server, server.token))).toBe(200);
    const sockets = Array.from({ length: 20 }, () => connectTo(server));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    await expect.poll(() => connectionsOf(server)).toBeGreaterThanOrEqual(20);
    const answers = countSlowAnswers();
    for (const socket of sockets) ask(socket, head.replace("$token", bearer(server.token)));
    expect(await Promise.all(sockets.map(statusOf))).toEqual(Array(20).fill(status));
    for (const socket of sockets) socket.destroy();
    expect(answers.mostInATurn()).toBeLessThanOrEqual(2);
  },
);

test("probes of many addresses are answered for 80 ms a turn of the event loop together", async () => {
  await using server = await startServer({ trustedProxies: ["127.0.0.1"] });
  const sockets = Array.from({ length: 48 }, () => connectTo(server));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  await expect.poll(() => connectionsOf(server)).toBeGreaterThanOrEqual(48);
  const answers = countSlowAnswers();
  for (const [n, socket] of sockets.entries())
    ask(socket, `GET /health HTTP/1.1\r\nX-Forwarded-For: 2001:db8::${n.toString(16)}`);
  expect(await Promise.all(sockets.map(statusOf))).toEqual(Array(48).fill(200));
  for (const socket of sockets) socket.destroy();
  expect(answers.mostInATurn()).toBeLessThanOrEqual(16);
});

test("a token that has expired or is revoked counts for no workspace any more", async () => {
  await using server = await startServer();
  const { database } = server;
  const { authenticate, lastWorkspaceOf } = createTokenAuthentication(database, { warn: () => {} });
  const workspaceId = await getWorkspaceId(database, "default");
  const expiring = await addToken(server, { expiresAt: new Date(Date.now() + 3_000) });
  const revoked = await addToken(server);
  for (const { token } of [expiring, revoked]) {
    await authenticate(`Bearer ${token}`);
    expect(lastWorkspaceOf(`Bearer ${token}`)).toBe(workspaceId);
  }
  await revokeAccessToken(commandLineContext(database, workspaceId), { id: revoked.id });
  for (const { token } of [expiring, revoked]) {
    const isRefused = async () => {
      await expect(authenticate(`Bearer ${token}`)).rejects.toThrow("expired or revoked");
    };
    await vi.waitFor(isRefused, 20_000);
    expect(lastWorkspaceOf(`Bearer ${token}`)).toBeUndefined();
  }
});

test("requests that need no token give their places back, whatever becomes of them", async () => {
  await using server = await startServer({ console: true });
  const paths = ["/openapi.json", "/graphql", "/console/session", "/files/upload/nothing", "/", "/nowhere"];
  for (let n = 0; n < 70; n++)
    for (const path of paths)
      expect((await server.get(path, { token: null })).status).toBeGreaterThanOrEqual(200);
});

test("50 sign-ins whose bodies do not arrive keep others from signing in, and from nothing else", async () => {
  await using server = await startServer({ limits: { maxInFlight: 4 }, console: true });
  const begin = () =>
    open(
      server,
      "POST /console/session HTTP/1.1\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json\r\nContent-Length: 99",
    );
  const signIns = Array.from({ length: 51 }, begin);
  expect(await Promise.race(signIns.map(statusOf))).toBe(503);
  const { token } = await addToken(server, { scopes: ["read"] });
  expect(await statusOf(askWith(server, token))).toBe(200);
  for (const socket of signIns) socket.destroy();
});

test("a session is stored in the turn of its workspace, and not behind all who sign in", async () => {
  await using server = await startServer({ console: true });
  const acquire = vi.spyOn(writeQueueOf(server.database.orm.em)!, "acquire");
  const headers = { "sec-fetch-site": "same-origin", host: "localhost:3001" };
  const { status } = await server.post("/console/session", { token: server.token }, { token: null, headers });
  expect(status).toBe(204);
  expect(acquire.mock.calls).toEqual([[await getWorkspaceId(server.database, "default")]]);
});
