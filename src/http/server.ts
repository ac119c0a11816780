import { once } from "node:events";
import type { RequestListener, Server } from "node:http";
import {
  type AddressInfo,
  createServer as createListener,
  type Server as Listener,
  type Socket,
} from "node:net";
import { getHeapStatistics } from "node:v8";
import type { FastifyServerOptions } from "fastify";
import type { App } from "./app.ts";
import { createConnections } from "./connections.ts";
import { ParsedRequest, parseInSlices } from "./slices.ts";

// An import would read all exports of the module, and so load the client of the Fetch API, which nothing here uses.
const { createServer } = process.getBuiltinModule("node:http");

/** Slower clients are disconnected, so that they cannot hold connections or memory for ever. */
export interface ClientLimits {
  /** For sending the headers of a request. */
  headersMs: number;
  /** For sending a whole request. */
  requestMs: number;
  /** For reading the part of a response that waits in memory, in addition to its time at `minBytesPerMs`. */
  answerMs: number;
  /** The slowest line that is served. */
  minBytesPerMs: number;
  /** Between two checks for slow clients. */
  checkMs: number;
  maxConnections: number;
  /** Bytes of responses that wait to be read, for all clients together. */
  maxWaitingBytes: number;
}

export const CLIENT_LIMITS: ClientLimits = {
  headersMs: 10_000,
  requestMs: 30_000,
  answerMs: 30_000,
  minBytesPerMs: 32,
  maxConnections: 4_000,
  checkMs: 1_000,
  maxWaitingBytes: getHeapStatistics().heap_size_limit / 4,
};

/** Each takes 0.2 microseconds before any limit applies; Node.js would take 1,000. Browsers send about 20. */
const MAX_HEADERS = 100;

/** Makes the HTTP server under Fastify; it disconnects slow clients. */
export function createHttpServer(
  handle: RequestListener,
  { http, keepAliveTimeout }: FastifyServerOptions & { http?: object },
  clientLimits: Partial<ClientLimits>,
): Server {
  const limits = { ...CLIENT_LIMITS, ...clientLimits };
  const { headersMs, requestMs, checkMs } = limits;
  const connections = createConnections(limits.maxConnections);
  const server = createServer(
    {
      ...http,
      IncomingMessage: ParsedRequest,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
      requireHostHeader: false,
      optimizeEmptyRequests: true,
      ...(keepAliveTimeout !== undefined && { keepAliveTimeout }),
    },
    connections.withoutPipelining(handle),
  );
  server.maxHeadersCount = MAX_HEADERS;
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  disconnectSlowReaders(server, limits);
  connections.limit(server);
  parseInSlices(server);
  return server;
}

interface Reading {
  /** Bytes that the client had read when the time began. */
  bytesRead: number;
  untilMs: number;
}

/** A client that reads nothing of a response, or next to nothing, would hold it in memory for ever. */
function disconnectSlowReaders(
  server: Server,
  { answerMs, minBytesPerMs, checkMs, maxWaitingBytes }: ClientLimits,
): void {
  const sockets = new Set<Socket>();
  const readings = new WeakMap<Socket, Reading>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  const check = () => {
    const now = performance.now();
    const unreadSockets: Socket[] = [];
    for (const socket of sockets) {
      const { writableLength, bytesWritten } = socket;
      if (writableLength === 0) continue;
      const bytesRead = bytesWritten - writableLength;
      const reading = readings.get(socket);
      if (reading?.bytesRead !== bytesRead) {
        const untilMs = now + answerMs + writableLength / minBytesPerMs;
        readings.set(socket, { bytesRead, untilMs });
      } else if (now > reading.untilMs) socket.destroy();
      if (!socket.destroyed) unreadSockets.push(socket);
    }
    disconnectLargest(unreadSockets, maxWaitingBytes);
  };
  const timer = setInterval(check, checkMs).unref();
  server.once("close", () => clearInterval(timer));
}

function disconnectLargest(sockets: Socket[], maxWaitingBytes: number): void {
  let waitingBytes = sockets.reduce((sum, { writableLength }) => sum + writableLength, 0);
  if (waitingBytes <= maxWaitingBytes) return;
  for (const socket of sockets.toSorted((a, b) => b.writableLength - a.writableLength)) {
    if (waitingBytes <= maxWaitingBytes) return;
    waitingBytes -= socket.writableLength;
    socket.destroy();
  }
}

/**
 * Makes the service listen on several addresses, such as both of `localhost`, until it closes. Fails when it cannot listen
 * on the first address; a machine may lack the others.
 */
export function createListen(app: App) {
  const listeners: Listener[] = [];
  const closings: Promise<unknown>[] = [];
  app.addHook("preClose", async () => {
    for (const listener of listeners) closings.push(new Promise((resolve) => listener.close(resolve)));
  });
  app.addHook("onClose", async () => void (await Promise.all(closings))); // before the database closes
  return async ([first, ...others]: string[], port: number): Promise<void> => {
    await app.listen({ host: first!, port });
    const address = app.server.address() as AddressInfo;
    for (const host of others) {
      const listener = createListener({ noDelay: true }, (socket) => app.server.emit("connection", socket));
      const listening = async () => {
        listener.listen({ host, port: address.port });
        await once(listener, "listening");
        if (app.isStopping()) listener.close();
        else listeners.push(listener);
      };
      await listening().catch(() => {});
    }
  };
}
