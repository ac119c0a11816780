import { once } from "node:events";
import type { RequestListener, Server, ServerResponse } from "node:http";
import {
  type AddressInfo,
  createServer as createListener,
  type Server as Listener,
  type Socket,
} from "node:net";
import { getHeapStatistics } from "node:v8";
import type { FastifyServerOptions } from "fastify";
import type { App } from "./app.ts";
import { parseInSlices } from "./slices.ts";

// An import reads all that a module exports, and with it loads the client of the Fetch API, which nothing here uses.
const { createServer } = process.getBuiltinModule("node:http");

/** How long clients may take; who is slower is cut off, so that slow ones cannot hold connections or memory for ever. */
export interface Patience {
  /** For sending the head of a request. */
  headersMs: number;
  /** For sending a whole request. */
  requestMs: number;
  /** For taking what of an answer stands ready, beside what it takes at the slowest line that is served. */
  answerMs: number;
  slowestBytesPerMs: number;
  /** Between two looks at who is too slow. */
  checkMs: number;
  /** What may stand ready for all clients together. */
  mostWaitingBytes: number;
}

export const PATIENCE: Patience = {
  headersMs: 10_000,
  requestMs: 30_000,
  answerMs: 30_000,
  slowestBytesPerMs: 32,
  checkMs: 1_000,
  mostWaitingBytes: getHeapStatistics().heap_size_limit / 4,
};

/** Makes the HTTP server under Fastify, which cuts off slow clients. */
export function createHttpServer(
  handle: RequestListener,
  { http, keepAliveTimeout }: FastifyServerOptions & { http?: object },
  patience: Patience,
): Server {
  const { headersMs, requestMs, checkMs } = patience;
  const server = createServer(
    {
      ...http,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
      requireHostHeader: false,
      optimizeEmptyRequests: true,
      ...(keepAliveTimeout !== undefined && { keepAliveTimeout }),
    },
    oneAfterAnother(handle),
  );
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  cutSlowReaders(server, patience);
  parseInSlices(server);
  return server;
}

/**
 * Cuts off a connection that sends a request before the one before is answered: Node.js would keep the answers of all of
 * them in memory, where nothing counts them, and reads hundreds from one packet in one turn. A client that waits for each
 * answer is never cut off, as an answer has been handed to the system before it can have arrived.
 */
function oneAfterAnother(handle: RequestListener): RequestListener {
  const latest = new WeakMap<Socket, ServerResponse>();
  return (request, response) => {
    const { socket } = request;
    if (latest.get(socket)?.writableFinished === false) return void socket.destroy();
    latest.set(socket, response);
    handle(request, response);
  };
}

interface Waiting {
  /** How much the client had taken when it was seen first. */
  taken: number;
  until: number;
}

/** Who takes nothing of an answer, or next to nothing, would hold it in memory for ever. */
function cutSlowReaders(
  server: Server,
  { answerMs, slowestBytesPerMs, checkMs, mostWaitingBytes }: Patience,
): void {
  const sockets = new Set<Socket>();
  const waiting = new WeakMap<Socket, Waiting>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const check = () => {
    const now = performance.now();
    const behind: Socket[] = [];
    for (const socket of sockets) {
      const { writableLength, bytesWritten } = socket;
      if (writableLength === 0) continue;
      const taken = bytesWritten - writableLength;
      const seen = waiting.get(socket);
      if (seen?.taken !== taken) {
        const until = now + answerMs + writableLength / slowestBytesPerMs;
        waiting.set(socket, { taken, until });
      } else if (now > seen.until) socket.destroy();
      if (!socket.destroyed) behind.push(socket);
    }
    cutTheLargest(behind, mostWaitingBytes);
  };
  const timer = setInterval(check, checkMs).unref();
  server.once("close", () => clearInterval(timer));
}

function cutTheLargest(behind: Socket[], mostWaitingBytes: number): void {
  let waitingBytes = behind.reduce((sum, { writableLength }) => sum + writableLength, 0);
  if (waitingBytes <= mostWaitingBytes) return;
  for (const socket of behind.toSorted((a, b) => b.writableLength - a.writableLength)) {
    if (waitingBytes <= mostWaitingBytes) return;
    waitingBytes -= socket.writableLength;
    socket.destroy();
  }
}

/**
 * Lets the service listen at each of some addresses, such as both of `localhost`, until it closes. It fails when it cannot
 * at the first; a machine may lack the others.
 */
export function createListen(app: App) {
  const listeners: Listener[] = [];
  const closed: Promise<unknown>[] = [];
  app.addHook("preClose", async () => {
    for (const listener of listeners) closed.push(new Promise((resolve) => listener.close(resolve)));
  });
  app.addHook("onClose", async () => void (await Promise.all(closed))); // before the database closes
  return async ([first, ...others]: string[], port: number): Promise<void> => {
    await app.listen({ host: first!, port });
    const chosen = app.server.address() as AddressInfo;
    for (const host of others) {
      const listener = createListener({ noDelay: true }, (socket) => app.server.emit("connection", socket));
      const listening = async () => {
        listener.listen({ host, port: chosen.port });
        await once(listener, "listening");
        listeners.push(listener);
      };
      await listening().catch(() => {});
    }
  };
}
