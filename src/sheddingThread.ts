import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer as createListener, type Server as Listener, type Socket } from "node:net";
import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { createHttpServer, PATIENCE } from "./connections.ts";
import { createEarlyRefusals } from "./earlyRefusals.ts";
import { answerToNoRequest, isRefusable, refusalFor, refuse } from "./refusals.ts";
import { createRoster } from "./roster.ts";
import { type Found, type FromThread, hasBody, LEAVING, REFUSED, type ToThread } from "./shedding.ts";
import { FIRST_BYTES_MS } from "./stopping.ts";

// The thread that refuses what is more than the main one can do.

/** As Node.js has it. Who was refused is not expected to stay. */
const KEEP_ALIVE_MS = 5_000;
/** How long newcomers are taken before a listener closes. */
const LONGEST_WELCOME_MS = 100;
/** What belongs to a connection, and not to the answer that the main thread makes. */
const OF_CONNECTION = new Set(["connection", "content-length", "date", "keep-alive", "transfer-encoding"]);

const { counts, corsOrigins } = workerData as { counts: Int32Array; corsOrigins: string[] };
const tell = (told: FromThread) => parentPort!.postMessage(told);

const asking = new Map<number, (found: Found | undefined) => void>();
let asked = 0;

const early = createEarlyRefusals({
  isFull: () => Atomics.load(counts, LEAVING) <= 0,
  isBusy: () => true,
  refuse: (url) => (isRefusable(url) ? refusalFor(url) : undefined),
  refused: () => Atomics.add(counts, REFUSED, 1),
});

const server = createHttpServer(answer, { keepAliveTimeout: KEEP_ALIVE_MS }, PATIENCE);
server.on("clientError", (error, socket) => socket.end(answerToNoRequest(error)));
server.emit("listening"); // it never does by itself, and would else cut off nobody who is slow

function answer(request: IncomingMessage, response: ServerResponse): void {
  early.begin(request, response);
  if (!isRefusable(request.url!)) ask(request, response);
  // What came together with its head is whole then.
  else if (hasBody(request)) setImmediate(refuseIt, request, response);
  else refuseIt(request, response);
}

function refuseIt(request: IncomingMessage, response: ServerResponse): void {
  // While more of it arrives, closing would cut it off, and who sends it would not see the answer.
  const mayLeave = request.complete || !hasBody(request);
  if (mayLeave && Atomics.sub(counts, LEAVING, 1) > 0) response.shouldKeepAlive = false;
  refuse(request, response, corsOrigins);
  early.watch(request, response);
  Atomics.add(counts, REFUSED, 1);
}

/** Only the main thread knows how the service fares. */
function ask(request: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers, socket } = request;
  const id = asked++;
  asking.set(id, (found) => (found ? pass(found, response) : refuseIt(request, response)));
  response.once("close", () => asking.delete(id));
  tell({ id, method: method!, url: url!, headers, remoteAddress: socket.remoteAddress ?? "" });
}

function pass({ status, headers, body }: Found, response: ServerResponse): void {
  response.shouldKeepAlive = false;
  const own = Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name));
  response.writeHead(status, Object.fromEntries(own)).end(body);
}

let listeners: Listener[] = [];
const sockets = createRoster<Socket>();
let connected = 0;

function welcome(socket: Socket): void {
  connected += 1;
  const entry = sockets.add(socket);
  socket.once("close", () => sockets.remove(entry));
  server.emit("connection", socket);
}

/** What waits to be accepted when a listener closes is reset, so this first takes all of it. */
async function stopListening(): Promise<void> {
  const closing = listeners;
  listeners = [];
  const until = performance.now() + LONGEST_WELCOME_MS;
  let before: number;
  do {
    before = connected;
    await nextTurn();
    await nextTurn();
  } while (connected > before && performance.now() < until);
  for (const listener of closing) listener.close();
  await wait(FIRST_BYTES_MS);
  // Who connects in advance, as browsers do, meets the main thread with the next one.
  for (const socket of sockets.all()) if (socket.bytesRead === 0) socket.destroy();
}

parentPort!.on("message", async (told: ToThread) => {
  if ("id" in told) return asking.get(told.id)?.(told.found);
  if (told.listenAt.length === 0) return stopListening();
  listeners = told.listenAt.map(({ address, port }) =>
    createListener({ noDelay: true }, welcome).listen({ host: address, port, reusePort: true }),
  );
  await Promise.all(listeners.map((listener) => once(listener, "listening")));
  tell("listening");
});
