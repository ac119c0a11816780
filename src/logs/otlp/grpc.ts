import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import type { App } from "../../http/app.ts";
import { createPacer } from "../../http/pacedConnections.ts";
import { createConnections } from "./grpcConnections.ts";
import { createGrpcServer } from "./grpcServer.ts";
import type { OtlpOptions } from "./options.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** Receives OpenTelemetry by gRPC at these addresses until the service closes; returns the port. Fails if the first is taken. */
    listenForGrpc(addresses: string[], port: number): Promise<number>;
  }
}

const MAX_CONNECTIONS = 1_000;
const GRACE_MS = 10_000;

/** Adds `app.listenForGrpc`. Call it after the hook that closes the database: hooks run in reverse, and calls in flight need it. */
export function offerGrpc(app: App, options: OtlpOptions, graceMs = GRACE_MS): void {
  const listeners: Server[] = [];
  const paced = createPacer();
  const connections = createConnections(MAX_CONNECTIONS);
  const server = createGrpcServer(options, app.log);

  const listen = async (host: string, port: number): Promise<number> => {
    const listener = createServer({ noDelay: true }, (socket) => {
      const hold = connections.add(socket);
      socket.on("error", () => {}); // of a client that went away
      const connection = paced(socket);
      server.connect(connection, (workspaceId) => {
        connection.workspaceId = workspaceId;
        return hold();
      });
    });
    listener.listen({ host, port });
    await once(listener, "listening");
    const address = listener.address() as AddressInfo;
    if (app.isStopping()) listener.close();
    else listeners.push(listener);
    return address.port;
  };

  app.decorate("listenForGrpc", async ([first, ...others]: string[], port: number) => {
    const chosenPort = await listen(first!, port);
    for (const host of others) await listen(host, chosenPort).catch(() => {}); // a machine may lack them
    return chosenPort;
  });
  app.addHook("preClose", async () => {
    for (const listener of listeners) listener.close();
    server.drain();
  });
  app.addHook("onClose", async () => {
    const end = setTimeout(() => {
      for (const socket of connections.open) socket.destroy();
    }, graceMs);
    await Promise.all([...connections.open].map(untilClose));
    clearTimeout(end);
  });
}

/** Unlike `once` of node:events, it does not reject when the connection fails first. */
const untilClose = (socket: Socket): Promise<void> =>
  new Promise((resolve) => (socket.closed ? resolve() : socket.once("close", () => resolve())));
