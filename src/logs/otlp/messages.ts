import { PbfWriter } from "pbf";
import type { ErrorCode, GabbroError } from "../../errors.ts";
import type { Encoding, Signal } from "./decode.ts";

/** What became of a request. Without rejections and a message, it is a full success. */
export interface Receipt {
  rejected: number;
  /** Says what was rejected and why, or holds warnings; empty when there is nothing to say. */
  message: string;
  /** Why, in the same words for every request of a sender; empty when nothing was rejected. */
  reason: string;
}

const contentTypes: Record<Encoding, string> = {
  protobuf: "application/x-protobuf",
  json: "application/json",
};

export interface EncodedAnswer {
  type: string;
  body: Buffer;
}

const answer = (encoding: Encoding, body: Uint8Array | object): EncodedAnswer => ({
  type: contentTypes[encoding],
  body: body instanceof Uint8Array ? Buffer.from(body) : Buffer.from(JSON.stringify(body)),
});

const rejectedNames: Record<Signal, string> = {
  traces: "rejectedSpans",
  logs: "rejectedLogRecords",
  metrics: "rejectedDataPoints",
};

/** An ExportTraceServiceResponse, or that of another signal. Its partial_success is unset on full success. */
export function exportResponse(receipt: Receipt, signal: Signal, encoding: Encoding): EncodedAnswer {
  const { rejected, message } = receipt;
  const isFull = rejected === 0 && message === "";
  if (encoding === "protobuf") return answer(encoding, isFull ? new Uint8Array() : partialSuccess(receipt));
  const partial = { [rejectedNames[signal]]: rejected, errorMessage: message };
  return answer(encoding, isFull ? {} : { partialSuccess: partial });
}

function partialSuccess({ rejected, message }: Receipt): Uint8Array {
  const writer = new PbfWriter();
  writer.writeMessage(
    1,
    (_, partial) => {
      if (rejected > 0) partial.writeVarintField(1, rejected);
      partial.writeStringField(2, message);
    },
    null,
  );
  return writer.finish();
}

/** Codes of gRPC, by the HTTP status of the error: https://grpc.io/docs/guides/status-codes/. */
const grpcCodes: Record<number, number> = {
  400: 3, // INVALID_ARGUMENT
  401: 16, // UNAUTHENTICATED
  403: 7, // PERMISSION_DENIED
  404: 5, // NOT_FOUND
  409: 9, // FAILED_PRECONDITION: clients send ABORTED again
  413: 8, // RESOURCE_EXHAUSTED
  415: 12, // UNIMPLEMENTED, as gRPC has it for an encoding
  429: 14, // UNAVAILABLE, as clients send RESOURCE_EXHAUSTED again only in part
  500: 13, // INTERNAL
  503: 14,
};
const UNKNOWN = 2;

export const grpcCodeOf = ({ status }: GabbroError): number => grpcCodes[status] ?? UNKNOWN;

/** Errors after which a client is to send the same again. */
const retried = new Set<ErrorCode>(["UNAVAILABLE", "TIMED_OUT", "TOO_MANY_REQUESTS"]);
const DEFAULT_RETRY_S = 1;

/** An error as a google.rpc.Status, which every answer that fails has to be. */
export function statusBody(error: GabbroError, encoding: Encoding): EncodedAnswer {
  if (encoding === "json") return answer("json", { code: grpcCodeOf(error), message: error.message });
  return answer("protobuf", statusBytes(error));
}

/** The google.rpc.Status, with a RetryInfo when the client is to send the same again. */
export function statusBytes(error: GabbroError): Uint8Array {
  const writer = new PbfWriter();
  writer.writeVarintField(1, grpcCodeOf(error));
  writer.writeStringField(2, error.message);
  if (retried.has(error.code)) writer.writeMessage(3, writeRetryInfo, error);
  return writer.finish();
}

function writeRetryInfo({ headers }: GabbroError, any: PbfWriter): void {
  const seconds = Number(headers["retry-after"] ?? DEFAULT_RETRY_S);
  any.writeStringField(1, "type.googleapis.com/google.rpc.RetryInfo");
  any.writeMessage(
    2,
    (_, retryInfo) =>
      retryInfo.writeMessage(1, (__, duration) => duration.writeVarintField(1, seconds), null),
    null,
  );
}
