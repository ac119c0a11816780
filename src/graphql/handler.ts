import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import { sendAnswer } from "../rest/idempotency.ts";
import { createDocumentCache } from "./documents.ts";
import { toParameters } from "./parameters.ts";
import { answerPost } from "./post.ts";
import { createGraphqlServer } from "./yoga.ts";
import { answerByYoga } from "./yogaHttp.ts";

/** Makes the handler of `/graphql`, with the resolvers' context of the request. */
export function createGraphqlHandler() {
  const documents = createDocumentCache();
  const yoga = createGraphqlServer(documents);
  return async (request: FastifyRequest, reply: FastifyReply, context: Context): Promise<FastifyReply> => {
    // Not a copy: that would make the unit of work, which most requests do without.
    const asked = Object.assign(context, { requestId: request.id, log: request.log });
    if (request.method === "POST") {
      const answer = await answerPost({ yoga, documents }, request, toParameters(request.body), asked);
      if (answer) return sendAnswer(reply, answer);
    }
    return answerByYoga(yoga, request, reply, asked);
  };
}
