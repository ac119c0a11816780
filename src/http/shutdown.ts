import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { App } from "./app.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** Whether the service is about to stop: it still serves requests, and reports that it is not ready. */
    isStopping(): boolean;
    /** Serves on for a while and has clients close their connections, so that closing finds none. */
    drain(forMs: number): Promise<void>;
  }
}

const GRACE_MS = 10_000;
/** The first request of a new connection may still be on its way. */
const FIRST_BYTES_MS = 500;

/**
 * Graceful shutdown: requests in flight get their answers within the grace period; idle connections end at once. Draining
 * before it has each client close its connection by itself, after an answer: a request that is sent on a connection
 * while the service closes it is lost, and its client cannot know whether it was carried out.
 */
export function closeGracefully(app: App, graceMs = GRACE_MS): void {
  const opened = openConnections(app);
  let isStopping = false;
  app.decorate("isStopping", () => isStopping);
  app.decorate("drain", async (forMs: number) => {
    isStopping = true;
    await wait(forMs);
  });
  app.addHook("onSend", (_, reply, __, done) => {
    if (isStopping) reply.header("connection", "close");
    done();
  });
  app.addHook("preClose", async () => {
    isStopping = true;
    // Node.js closes what is idle now; this closes what falls idle later, such as after a long answer.
    const sweep = setInterval(() => {
      app.server.closeIdleConnections();
      const before = performance.now() - FIRST_BYTES_MS;
      // Node.js does not count a connection that has not sent anything yet as idle, and browsers open such in advance.
      for (const [socket, at] of opened) if (socket.bytesRead === 0 && at < before) socket.destroy();
    }, 100);
    const end = setTimeout(() => app.server.closeAllConnections(), graceMs);
    app.server.once("close", () => {
      clearInterval(sweep);
      clearTimeout(end);
    });
  });
}

/** The connections with when they were opened. */
function openConnections(app: App): Map<Socket, number> {
  const opened = new Map<Socket, number>();
  app.server.on("connection", (socket) => {
    opened.set(socket, performance.now());
    socket.once("close", () => opened.delete(socket));
  });
  return opened;
}
