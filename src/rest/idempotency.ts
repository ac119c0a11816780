import type { RouteHandlerMethod } from "fastify";
import type { App, FastifyReply, FastifyRequest } from "../http/app.ts";
import { type Answer, idempotencyKeyOf, runOnce } from "../workspaces/idempotency.resolvers.ts";

/** Has the routes with POST that are registered after it answer a request with an `Idempotency-Key` once. */
export function answerRepeatsAlike(app: App): void {
  app.addHook("onRoute", (route) => {
    if (route.method !== "POST") return;
    const { handler } = route;
    route.handler = function (request, reply) {
      const key = idempotencyKeyOf(request.headers["idempotency-key"]);
      const run = () => handler.call(this, request, reply);
      return key === undefined ? run() : once(request, reply, { key, run });
    };
  });
}

async function once(
  request: FastifyRequest,
  reply: FastifyReply,
  { key, run }: { key: string; run: () => ReturnType<RouteHandlerMethod> },
): Promise<FastifyReply> {
  const { authorization } = request.headers;
  const repeatable = { key, authorization, request: JSON.stringify([request.url, request.body]) };
  const answer = await runOnce(request.context, repeatable, async (context) => {
    request.context = context;
    const body = JSON.stringify(await run());
    return { status: reply.statusCode, headers: { "content-type": "application/json; charset=utf-8" }, body };
  });
  return sendAnswer(reply, answer);
}

/** Sends an answer, and says so when it was given before. */
export function sendAnswer(
  reply: FastifyReply,
  { status, headers, body, isRepeated = false }: Answer & { isRepeated?: boolean },
): FastifyReply {
  if (reply.sent) return reply; // it took too long
  if (isRepeated) reply.header("idempotent-replayed", "true");
  return reply.status(status).headers(headers).send(body);
}
