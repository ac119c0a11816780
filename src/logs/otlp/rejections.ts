import type { Context } from "../../context.ts";
import { GabbroError } from "../../errors.ts";
import { recordRejected } from "../../inbox/recording.resolvers.ts";
import { authenticated } from "../../workspaces/resolvers.ts";
import type { Receipt } from "./messages.ts";

/** Where a request came in, such as `POST /v1/traces`, and what sent it. */
export interface Origin {
  endpoint: string;
  client: string | null;
}

/** An exporter that sends metrics has all of them rejected each minute: without this they were all that its inbox holds. */
const MERGED_MS = 24 * 60 * 60 * 1_000;

/** Records what a successful answer rejects in part, for which most exporters log nothing. */
export function recordPartial(context: Context, { endpoint, client }: Origin, receipt: Receipt): Receipt {
  const { rejected: count, reason } = receipt;
  if (count > 0) {
    const { workspaceId } = authenticated(context);
    const rejection = { endpoint, client, code: "PARTLY_REJECTED", reason, sample: null };
    recordRejected(context.database, workspaceId, { ...rejection, count, mergedMs: MERGED_MS });
  }
  return receipt;
}

/** Records a call by gRPC that is refused as a whole, as `recordRejections` does with requests by HTTP. */
export function recordRefused(context: Context, origin: Origin, error: unknown): void {
  if (!(error instanceof GabbroError) || error.status >= 500) return;
  const { workspaceId } = authenticated(context);
  const { code, message: reason } = error;
  recordRejected(context.database, workspaceId, { ...origin, code, reason, sample: null });
}
