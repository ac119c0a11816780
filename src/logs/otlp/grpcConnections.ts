import type { Socket } from "node:net";

/**
 * Closes the connection that is idle for longest when there are more than `maxConnections`, as by HTTP. Only calls with a valid token
 * keep a connection from it: 1,010 that sent nothing locked out all exporters, and with a PING twice a second they would cut off those
 * that wait for an answer.
 */
export function createConnections(maxConnections: number) {
  const open = new Set<Socket>();
  /** In the order in which they became idle. */
  const idle = new Set<Socket>();
  const remove = (socket: Socket) => {
    open.delete(socket);
    idle.delete(socket);
  };
  return {
    open,
    /** Returns the function to call when a call on it begins, which returns the one to call when it ends. */
    add: (socket: Socket): (() => () => void) => {
      let calls = 0;
      open.add(socket);
      idle.add(socket);
      socket.once("close", () => remove(socket));
      if (open.size > maxConnections) {
        const [longestIdle = socket] = idle;
        remove(longestIdle); // its event `close` comes later
        longestIdle.destroy();
      }
      return () => {
        calls += 1;
        idle.delete(socket);
        return () => {
          calls -= 1;
          if (calls === 0 && open.has(socket)) idle.add(socket);
        };
      };
    },
  };
}
