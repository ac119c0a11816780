import type { FastifyReply, FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import { createDocumentCache } from "./documents.ts";
import { toParameters } from "./parameters.ts";
import { runDirectly } from "./transport.ts";

type YogaTransport = ReturnType<typeof import("./yoga.ts")["createYogaTransport"]>;

/**
 * Makes the handler of `/graphql`, with the resolvers' context of the request. What transport.ts leaves is for Yoga, which
 * is loaded when it is first needed: it is a quarter of all modules, and would delay every start by as much.
 */
export function createGraphqlHandler() {
  const documents = createDocumentCache();
  let loading: Promise<YogaTransport> | undefined;
  const load = async () => (await import("./yoga.ts")).createYogaTransport();
  return async (request: FastifyRequest, reply: FastifyReply, context: Context): Promise<FastifyReply> => {
    // Not a copy: that would make the unit of work, which most requests do without.
    const asked = Object.assign(context, { requestId: request.id, log: request.log });
    if (request.method === "POST") {
      const outcome = await runDirectly(request, reply, toParameters(request.body), { documents, asked });
      if (outcome === "answered") return reply;
    }
    loading ??= load();
    const answer = await loading;
    return answer(request, reply, asked);
  };
}
