import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import helmet from "helmet";

const options = {
  // Data needs no resources; pages set policies of their own.
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  // Only the proxy in front can promise that the whole host uses TLS.
  strictTransportSecurity: false,
} as const;

/**
 * A cache must not give the response for one token to a caller with another token or with none. Routes with public
 * responses, or with secrets, set their own headers. `Vary` lists the headers that any route's response may depend on.
 */
const caching = { "cache-control": "private, no-cache", vary: "Authorization, Accept-Encoding" };

/** Sets the security headers, and the caching headers of private responses, on every response. */
export function addSecurityHeaders(app: FastifyInstance): void {
  const headers = { ...headersOfHelmet(), ...caching };
  app.addHook("onRequest", (_, reply, done) => {
    reply.headers(headers);
    done();
  });
}

/** Computed once: the headers are the same for every request. */
function headersOfHelmet(): Record<string, string> {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value;
    },
    removeHeader: (_: string) => {},
  };
  helmet(options)({} as IncomingMessage, response as ServerResponse, () => {});
  return headers;
}
