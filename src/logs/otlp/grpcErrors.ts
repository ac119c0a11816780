import { randomUUID } from "node:crypto";
import grpc from "@grpc/grpc-js";
import type { FastifyBaseLogger } from "fastify";
import { unavailable } from "../../database/driverErrors.ts";
import { GabbroError, internalError } from "../../errors.ts";
import { grpcCodeOf, statusBytes } from "./messages.ts";

const DETAILS = "grpc-status-details-bin";

/** The status that ends a call, with the google.rpc.Status in its trailers. Logs errors of the server. */
export function toGrpcError(error: unknown, log: FastifyBaseLogger) {
  const requestId = randomUUID();
  const expected =
    error instanceof GabbroError ? error : (unavailable(error) ?? internalError(requestId, error));
  if (expected.status >= 500) log.error({ err: expected.cause ?? expected, requestId }, "a call failed");
  const metadata = new grpc.Metadata();
  metadata.set(DETAILS, Buffer.from(statusBytes(expected)));
  return { code: grpcCodeOf(expected), details: expected.message, metadata };
}
