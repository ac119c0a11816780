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
 * A cache must not give the answer for one token to a caller with another token, or with none. Routes with public answers,
 * or with secrets, set their own. `Vary` names all that an answer may depend on, for all routes alike.
 */
const caching = { "cache-control": "private, no-cache", vary: "Authorization, Accept-Encoding" };

/** Sets the security headers, and the caching headers of private answers, on every answer. */
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
