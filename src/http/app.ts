import type { IncomingMessage, ServerResponse } from "node:http";
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RawServerDefault,
} from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Context } from "../context.ts";
import type { ErrorCode } from "../errors.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** What the resolvers need from this request; set by authentication. */
    context: Context;
    /** The error of its answer, at REST or before its GraphQL operation was executed. */
    errorCode?: ErrorCode;
    /** The sentence of that error, at REST. */
    errorMessage?: string;
    /** The object that owns the text of its answer; requests that share it are counted once. */
    answer?: object;
    /** At least the first 4 KiB of its body, once it has arrived. */
    bodyStart?: Buffer;
    /** Whether to let others run between the pieces of the work on it. */
    hasLargeBody?: boolean;
  }
}

/** The server as routes see it: zod schemas type and validate the parts of a request. */
export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export type { FastifyReply, FastifyRequest };
