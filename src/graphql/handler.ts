import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import { sendAnswer } from "../rest/idempotency.ts";
import { createDocumentCache } from "./documents.ts";
import { toParameters } from "./parameters.ts";
import { answerPost } from "./post.ts";
import { createGraphqlServer } from "./yoga.ts";
import { answerByYoga } from "./yogaHttp.ts";

/** Creates the handler of `/graphql`, which extends the context of the request. */
export function createGraphqlHandler() {
  const documents = createDocumentCache();
  const yoga = createGraphqlServer(documents);
  return async (request: FastifyRequest, reply: FastifyReply, context: Context): Promise<unknown> => {
    // Not a copy, which would create the unit of work that most requests do not need.
    const serverContext = Object.assign(context, {
      requestId: request.id,
      log: request.log,
      reportsCost: request.headers["gabbro-cost"] !== undefined,
    });
    if (request.method === "POST") {
      const answer = await answerPost(
        { yoga, documents },
        request,
        toParameters(request.body),
        serverContext,
      );
      if (answer) return sendAnswer(reply, answer);
    }
    return answerByYoga(yoga, request, reply, serverContext);
  };
}
