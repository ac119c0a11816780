import type { RouteHandlerMethod } from "fastify";
import type { App, FastifyReply, FastifyRequest } from "../http/app.ts";
import { bearerToken } from "../workspaces/authentication.resolvers.ts";
import { type Answer, idempotencyKeyOf, runOnce } from "../workspaces/idempotency.resolvers.ts";

/** Makes retries safe on the POST routes registered after it: the same `Idempotency-Key` returns the first answer. */
export function handleIdempotencyKeys(app: App): void {
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
  const secret = bearerToken(request.headers.authorization)!;
  const idempotentRequest = { key, secret, request: [request.url, request.body] };
  const answer = await runOnce(request.context, idempotentRequest, async (context, { pause }) => {
    request.context = context;
    const result = await run();
    await pause();
    const body = JSON.stringify(result);
    return {
      status: successOf(request),
      headers: { "content-type": "application/json; charset=utf-8" },
      body,
    };
  });
  return sendAnswer(reply, answer);
}

/** The status that a route has for success. That of the reply is the one of TIMED_OUT once the time of the request is up. */
const successOf = ({ routeOptions }: FastifyRequest): number =>
  Math.min(...Object.keys(routeOptions.schema?.response ?? {}).map(Number));

/** Sends an answer, with a header when it is that of an earlier request. */
export function sendAnswer(reply: FastifyReply, answer: Answer & { isRepeated?: boolean }): FastifyReply {
  if (reply.sent) return reply; // the request timed out
  const { status, headers, body, isRepeated = false } = answer;
  reply.request.answer = answer;
  if (isRepeated) reply.header("idempotent-replayed", "true");
  return reply.status(status).headers(headers).send(body);
}
