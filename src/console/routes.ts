import type { Context } from "../context.ts";
import { GabbroError } from "../errors.ts";
import type { App, FastifyReply, FastifyRequest } from "../http/app.ts";
import {
  cookieOf,
  cookiesOfNoSession,
  isJson,
  refuseOtherOrigins,
  sessionSecretOf,
} from "../http/sessionCookie.ts";
import type { BuiltConsole } from "./files.ts";
import { type SignInInput, signInInput } from "./inputs.ts";
import { consolePages } from "./pages.ts";
import { describeSession, MAX_AGE_MS, signIn, signOut } from "./sessions.resolvers.ts";

const URL = "/console/session";
/** Callers have no token yet, so little of what they send is read. */
const MAX_BODY_BYTES = 16 * 1024;

type ContextOf = (request: FastifyRequest, reply: FastifyReply) => Promise<Context>;

/** Adds the console: its pages, where it is built, and its sessions. */
export function consoleRoutes(
  app: App,
  {
    built,
    contextOf,
    database,
  }: { built: BuiltConsole | null; contextOf: ContextOf } & Pick<Context, "database">,
): void {
  if (built) consolePages(app, built);
  app.register(async (routes: App) => sessionRoutes(routes, contextOf, database));
}

/** Adds signing in, asking who is signed in, and signing out. */
function sessionRoutes(app: App, contextOf: ContextOf, database: Context["database"]): void {
  const hidden = { hide: true };
  app.addHook("onRequest", async (_, reply) => void reply.header("cache-control", "no-store"));
  app.post(
    URL,
    {
      schema: { ...hidden, body: signInInput },
      bodyLimit: MAX_BODY_BYTES,
      config: { signsIn: true },
      onRequest: refuseForeignBody,
    },
    async (request, reply) => {
      cookieOf(request, "", MAX_AGE_MS); // throws where there can be no session, before one is made
      const secret = await signIn(database, request.body as SignInInput);
      return reply
        .status(204)
        .header("set-cookie", cookieOf(request, secret, MAX_AGE_MS))
        .send();
    },
  );
  app.get(URL, { schema: hidden, onRequest: withSession(contextOf) }, async ({ context }, reply) => {
    const session = context?.access ? await describeSession(context, context.access) : null;
    return reply.send({ session });
  });
  app.delete(URL, { schema: hidden, onRequest: withSession(contextOf) }, async (request, reply) => {
    const secret = sessionSecretOf(request);
    if (secret !== undefined && request.context?.access) await signOut(request.context, secret);
    return reply.status(204).header("set-cookie", cookiesOfNoSession(request)).send();
  });
}

async function refuseForeignBody(request: FastifyRequest): Promise<void> {
  refuseOtherOrigins(request);
  const { headers } = request;
  const isLarge = headers["transfer-encoding"] || Number(headers["content-length"] ?? 0) > MAX_BODY_BYTES;
  if (isLarge) throw new GabbroError("BODY_TOO_LARGE", "The body is larger than 16 kB.");
  if (!isJson(request))
    throw new GabbroError("UNSUPPORTED_MEDIA_TYPE", "Send JSON with Content-Type: application/json.");
}

/** Sets the context of the session; an ended one is as good as none, and no error that a browser reports. */
function withSession(contextOf: ContextOf) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    try {
      request.context = await contextOf(request, reply);
    } catch (error) {
      if (!(error instanceof GabbroError && error.code === "UNAUTHENTICATED")) throw error;
      reply.header("set-cookie", cookiesOfNoSession(request));
    }
  };
}
