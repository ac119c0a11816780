import type { IncomingMessage, RequestListener, Server } from "node:http";
import type { Socket } from "node:net";
import { isStopped, stop } from "./slices.ts";

/** After which an answer that waits for its client may be cut for the connections of others. */
const UNREAD_MS = 200;

interface Connection {
  /** Its request that is not answered yet. */
  request: IncomingMessage | null;
  /** Since when. */
  sinceMs: number;
}

/**
 * Closes a connection when there are more than `maxConnections`, so that they cannot use up the files that the process may open: one
 * whose client does not read its answer, if more than half have a request in flight; else the one that is idle for longest; and the
 * new one when there is neither. 4,100 clients without a token that read nothing kept a neighbour out for as long as they stayed.
 *
 * Also closes a connection on which a request arrives before the previous one is answered: Node.js would keep all their responses
 * in memory, which no limit counts, and handles hundreds of them in one turn. A client that waits for each response is never
 * affected: a response has been handed to the operating system before the client can have read it.
 */
export function createConnections(maxConnections: number) {
  // Found by looking at all of them when there are too many. With a list of the idle and one of the busy ones, each request changed
  // both, and V8 makes the table of a Set anew every few changes: a description took 178 microseconds in place of 153.
  const connections = new Map<Socket, Connection>();
  const limit = (server: Server) => {
    server.on("connection", (socket) => {
      if (connections.size >= maxConnections) {
        const closed = findSuperfluous(connections, maxConnections) ?? socket;
        connections.delete(closed); // its event `close` comes later
        closed.destroy();
      }
      if (socket.destroyed) return;
      connections.set(socket, { request: null, sinceMs: performance.now() });
      socket.once("close", () => connections.delete(socket));
    });
    // What follows a whole request is dropped: its answer says whether it was stored, and closes the connection.
    server.on("clientError", (_, socket: Socket) => {
      if (connections.get(socket)?.request?.complete) stop(socket);
    });
  };
  const withoutPipelining =
    (handle: RequestListener): RequestListener =>
    (request, response) => {
      const { socket } = request;
      const connection = connections.get(socket);
      if (!connection || connection.request) return void socket.destroy();
      connection.request = request;
      connection.sinceMs = performance.now();
      // Keeps no response: while a connection is idle it would hold the last one, with its request and its answer.
      response.once("close", () => {
        connection.request = null;
        connection.sinceMs = performance.now();
        if (isStopped(socket)) socket.end(); // its answer had begun before, and did not say so
      });
      handle(request, response);
    };
  return { limit, withoutPipelining };
}

function findSuperfluous(connections: Map<Socket, Connection>, maxConnections: number): Socket | undefined {
  const lastMs = performance.now() - UNREAD_MS;
  const unread: Found = { socket: undefined, sinceMs: lastMs };
  const idle: Found = { socket: undefined, sinceMs: Number.POSITIVE_INFINITY };
  let busy = 0;
  for (const [socket, { request, sinceMs }] of connections) {
    const isBusy = request !== null;
    if (isBusy) busy += 1;
    const found = isBusy ? unread : idle;
    if (sinceMs >= found.sinceMs || (isBusy && socket.writableLength === 0)) continue;
    found.socket = socket;
    found.sinceMs = sinceMs;
  }
  return (busy > maxConnections / 2 ? unread.socket : undefined) ?? idle.socket;
}

interface Found {
  socket: Socket | undefined;
  sinceMs: number;
}
