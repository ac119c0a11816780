import type { ReportedSpan } from "../reported.ts";
import type { OtlpSpan } from "./span.ts";

/** Stands in for the mapping: names, times, status and attributes only. */
export function mapSpan(span: OtlpSpan): ReportedSpan {
  const nothing = { input: null, output: null, idealOutput: null, metadata: null, evaluators: null };
  return {
    traceId: span.traceId,
    isRoot: span.parentSpanId === null || span.hasRemoteParent,
    warnings: [],
    trace: {
      ...nothing,
      name: span.name,
      featureSlug: null,
      sampleRate: null,
      experimentId: null,
      sessionId: null,
      environment: null,
      user: null,
      organization: null,
    },
    log: {
      ...nothing,
      externalId: span.spanId,
      parentExternalId: span.parentSpanId,
      type: "span",
      name: span.name,
      status: span.status,
      statusMessage: span.statusMessage,
      startTime: span.startTime,
      endTime: span.endTime,
      variables: null,
      promptSlug: null,
      version: null,
      tag: null,
      provider: null,
      model: null,
      cost: null,
      timeToFirstTokenMs: null,
      isInternal: false,
      attributes: span.attributes,
      events: span.events,
      inputTokens: null,
      cacheReadTokens: null,
      cacheWriteTokens: null,
      outputTokens: null,
      reasoningTokens: null,
    },
  };
}
