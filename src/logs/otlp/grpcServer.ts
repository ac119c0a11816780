import type { ServerHttp2Session } from "node:http2";
import type { Duplex } from "node:stream";
import type { FastifyBaseLogger } from "fastify";
import { createCalls, type HoldConnection } from "./grpcCalls.ts";
import type { OtlpOptions } from "./options.ts";

/** A client that stays for ever keeps what its connection holds, and new gateways behind a proxy would get no calls of it. */
const MAX_AGE_MS = 600_000;
/** Longer than a call may take. */
const AGE_GRACE_MS = 60_000;
/** Calls on one connection that are not answered. */
const MAX_CALLS = 100;

/** Serves the three services of OpenTelemetry on the connections that it is given. */
export function createGrpcServer(options: OtlpOptions, log: FastifyBaseLogger) {
  const sessions = new Set<ServerHttp2Session>();
  const answerCall = createCalls(options, log);
  return {
    connect: (connection: Duplex, hold: HoldConnection): void => {
      // For the first connection: an import delays every start by 20 ms.
      const { performServerHandshake } = process.getBuiltinModule("node:http2");
      const session = performServerHandshake(connection, { settings: { maxConcurrentStreams: MAX_CALLS } });
      sessions.add(session);
      const aging = setTimeout(() => session.close(), MAX_AGE_MS).unref();
      const ending = setTimeout(() => session.destroy(), MAX_AGE_MS + AGE_GRACE_MS).unref();
      session.once("close", () => {
        sessions.delete(session);
        clearTimeout(aging);
        clearTimeout(ending);
        connection.destroy();
      });
      session.on("error", () => {}); // of a client that breaks the protocol, which ends its connection
      session.on("stream", (stream, headers) => void answerCall(stream, headers, hold));
    },
    /** Lets calls in flight finish, and asks clients to make no further ones. */
    drain: (): void => {
      for (const session of sessions) session.close();
    },
  };
}
