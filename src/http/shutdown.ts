import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { App } from "./app.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** Whether the service is about to stop: it still serves requests but reports that it is not ready. */
    isStopping(): boolean;
    /**
     * Continues to serve for this time, or until the signal is aborted, while clients close their connections, so that none
     * is left when it closes.
     */
    drain(forMs: number, signal?: AbortSignal): Promise<void>;
  }
}

const GRACE_MS = 10_000;
/** The first request of a new connection may still be on its way. */
const FIRST_BYTES_MS = 500;

/**
 * Graceful shutdown: requests in flight get their answers within the grace period; idle connections end at once. Draining
 * first asks each client, with its next answer, to close its connection itself: a request that is sent while the service
 * closes the connection is lost, and the client cannot know whether it was executed.
 */
export function closeGracefully(app: App, graceMs = GRACE_MS): void {
  const connections = trackConnections(app);
  let isStopping = false;
  app.decorate("isStopping", () => isStopping);
  app.decorate("drain", async (forMs: number, signal?: AbortSignal) => {
    isStopping = true;
    await wait(forMs, undefined, signal && { signal }).catch(() => {});
  });
  app.addHook("onSend", (_, reply, __, done) => {
    if (isStopping) reply.header("connection", "close");
    done();
  });
  app.addHook("preClose", async () => {
    isStopping = true;
    // Node.js closes the connections that are idle now; this closes those that become idle later, such as after a long answer.
    const sweep = setInterval(() => {
      app.server.closeIdleConnections();
      const openedBeforeMs = performance.now() - FIRST_BYTES_MS;
      // For Node.js a connection that has sent nothing yet is not idle. Browsers open such connections in advance.
      for (const [socket, openedMs] of connections)
        if (socket.bytesRead === 0 && openedMs < openedBeforeMs) socket.destroy();
    }, 100).unref(); // without it a server that did not listen keeps the process
    const end = setTimeout(() => app.server.closeAllConnections(), graceMs).unref();
    app.server.once("close", () => {
      clearInterval(sweep);
      clearTimeout(end);
    });
  });
}

/** The open connections, with the times at which they were opened. */
function trackConnections(app: App): Map<Socket, number> {
  const connections = new Map<Socket, number>();
  app.server.on("connection", (socket) => {
    connections.set(socket, performance.now());
    socket.once("close", () => connections.delete(socket));
  });
  return connections;
}
