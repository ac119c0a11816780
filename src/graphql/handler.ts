import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import { createDocumentCache } from "./documents.ts";
import { toParameters } from "./parameters.ts";
import { runDirectly } from "./transport.ts";
import { createYogaTransport } from "./yoga.ts";

/** Makes the handler of `/graphql`, with the resolvers' context of the request. What transport.ts leaves is for Yoga. */
export function createGraphqlHandler() {
  const documents = createDocumentCache();
  const answer = createYogaTransport();
  return async (request: FastifyRequest, reply: FastifyReply, context: Context): Promise<FastifyReply> => {
    // Not a copy: that would make the unit of work, which most requests do without.
    const asked = Object.assign(context, { requestId: request.id, log: request.log });
    if (request.method === "POST") {
      const outcome = await runDirectly(request, reply, toParameters(request.body), { documents, asked });
      if (outcome === "answered") return reply;
    }
    return answer(request, reply, asked);
  };
}
