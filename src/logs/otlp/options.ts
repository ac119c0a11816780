import type { Limiter } from "../../http/limiter.ts";
import type { OtlpSpanCounts } from "../../metrics/otlpSpans.ts";
import type { Caller, ContextOf } from "../../requestContext.ts";

/** What both transports need of the service. */
export interface OtlpOptions {
  contextOf: ContextOf<Caller>;
  limiter: Limiter;
  counts: OtlpSpanCounts;
}
