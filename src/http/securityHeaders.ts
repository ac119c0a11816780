import type { FastifyInstance } from "fastify";
import helmet from "helmet";

const options = {
  // Answers of data need nothing from anywhere; the pages bring policies of their own.
  contentSecurityPolicy: {
    useDefaults: false,
    directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
  },
  // Whether everything of this host speaks TLS is for the proxy in front to say.
  strictTransportSecurity: false,
} as const;

/**
 * Who has no token, or another one, or none any more, must not get from a cache what one of them was answered. Routes whose
 * answers are for everybody, or hold a secret, say otherwise; all that an answer may depend on is named for all of them.
 */
const caching = { "cache-control": "private, no-cache", vary: "Authorization, Accept-Encoding" };

/** Has every answer tell browsers, and caches on the way, what they must not do with it. */
export function addSecurityHeaders(app: FastifyInstance): void {
  const headers = { ...headersOfHelmet(), ...caching };
  app.addHook("onRequest", (_, reply, done) => {
    reply.headers(headers);
    done();
  });
}

/** They are the same for every request, and Helmet would write them anew for each. */
function headersOfHelmet(): Record<string, string> {
  const headers: Record<string, string> = {};
  const response = {
    setHeader: (name: string, value: string) => {
      headers[name.toLowerCase()] = value;
    },
    removeHeader: () => {},
  };
  helmet(options)({} as never, response as never, () => {});
  return headers;
}
