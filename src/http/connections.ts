import type { Server } from "node:http";
import type { Socket } from "node:net";

/**
 * Closes the connection that is idle for longest when there are more than `maxConnections`, so that idle connections cannot
 * use up the files that the process may open. A new connection is closed when all others have a request in flight.
 */
export function limitConnections(server: Server, maxConnections: number): void {
  /** In the order in which they became idle. */
  const idle = new Set<Socket>();
  let open = 0;
  server.on("connection", (socket) => {
    open += 1;
    if (open > maxConnections) {
      const [longestIdle = socket] = idle;
      idle.delete(longestIdle); // its event `close` comes later
      longestIdle.destroy();
    }
    idle.add(socket);
    socket.once("close", () => {
      open -= 1;
      idle.delete(socket);
    });
  });
  server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    response.once("close", () => {
      if (!socket.destroyed) idle.add(socket);
    });
  });
}
