import type { Server } from "node:http";
import type { Socket } from "node:net";

/** After which an answer that waits for its client may be cut for the connections of others. */
const UNREAD_MS = 200;

/**
 * Closes a connection when there are more than `maxConnections`, so that they cannot use up the files that the process may open: one
 * whose client does not read its answer, if more than half have a request in flight; else the one that is idle for longest; and the
 * new one when there is neither. 4,100 clients without a token that read nothing kept a neighbour out for as long as they stayed.
 */
export function limitConnections(server: Server, maxConnections: number): void {
  /** In the order in which they became idle. */
  const idle = new Set<Socket>();
  /** With the times at which their requests began, in this order. */
  const busy = new Map<Socket, number>();
  let open = 0;
  server.on("connection", (socket) => {
    open += 1;
    if (open > maxConnections) {
      const unread = busy.size > maxConnections / 2 ? findUnread(busy) : undefined;
      const [longestIdle = socket] = idle;
      const closed = unread ?? longestIdle;
      idle.delete(closed); // its event `close` comes later
      busy.delete(closed);
      closed.destroy();
    }
    idle.add(socket);
    socket.once("close", () => {
      open -= 1;
      idle.delete(socket);
    });
  });
  server.on("request", ({ socket }, response) => {
    idle.delete(socket);
    busy.set(socket, performance.now());
    response.once("close", () => {
      busy.delete(socket);
      if (!socket.destroyed) idle.add(socket);
    });
  });
}

/** The one that waits for longest. Few are before it: requests that are worked on, or whose body arrives, have limits of their own. */
function findUnread(busy: Map<Socket, number>): Socket | undefined {
  const last = performance.now() - UNREAD_MS;
  for (const [socket, begunMs] of busy) {
    if (begunMs > last) return undefined;
    if (socket.writableLength > 0) return socket;
  }
  return undefined;
}
