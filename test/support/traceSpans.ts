import type { Server } from "./server.ts";

export interface SpanOfTest {
  /** From 1. */
  id: number;
  /** The id of the span around it; absent at the top. */
  parent?: number;
  name: string;
  startMs: number;
  durationMs: number;
  attributes?: Record<string, string | number>;
  /** The message of an error. */
  error?: string;
}

const MAX_SPANS_AT_ONCE = 5_000;

/** Sends the spans of one trace as OTLP in JSON; `startMs` of each counts from `at`. Returns the trace id. */
export async function sendTrace(
  server: Server,
  { trace, at, spans }: { trace: number; at: Date; spans: SpanOfTest[] },
): Promise<string> {
  const traceId = trace.toString(16).padStart(32, "0");
  for (let from = 0; from < spans.length; from += MAX_SPANS_AT_ONCE) {
    const some = spans.slice(from, from + MAX_SPANS_AT_ONCE).map((span) => toOtlp(traceId, at, span));
    const { status, body } = await server.post("/v1/traces", {
      resourceSpans: [{ scopeSpans: [{ spans: some }] }],
    });
    if (status !== 200 || body.partialSuccess) throw new Error(JSON.stringify(body));
  }
  return traceId;
}

function toOtlp(traceId: string, at: Date, span: SpanOfTest) {
  const { id, parent, name, startMs, durationMs, attributes = {}, error } = span;
  const nanos = (ms: number) => `${at.getTime() + ms}000000`;
  return {
    traceId,
    spanId: id.toString(16).padStart(16, "0"),
    ...(parent !== undefined && { parentSpanId: parent.toString(16).padStart(16, "0") }),
    name,
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(startMs + durationMs),
    attributes: Object.entries(attributes).map(([key, value]) => ({
      key,
      value: typeof value === "number" ? { intValue: value } : { stringValue: value },
    })),
    ...(error !== undefined && { status: { code: 2, message: error } }),
  };
}

/** An agent that searches, calls a model and fails at a tool. */
export const agentSpans = (output: string): SpanOfTest[] => [
  {
    id: 1,
    name: "plan a trip",
    startMs: 0,
    durationMs: 3_000,
    attributes: { "gen_ai.operation.name": "invoke_agent", "user.id": "u-17", "session.id": "s-3" },
  },
  {
    id: 2,
    parent: 1,
    name: "search guides",
    startMs: 10,
    durationMs: 200,
    attributes: { "gen_ai.operation.name": "retrieval" },
  },
  {
    id: 3,
    parent: 1,
    name: "chat gpt-4o-mini",
    startMs: 250,
    durationMs: 2_000,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "openai",
      "gen_ai.request.model": "gpt-4o-mini",
      "gen_ai.response.model": "gpt-4o-mini",
      "gen_ai.usage.input_tokens": 120_000,
      "gen_ai.usage.output_tokens": 2_000,
      "gen_ai.output.messages": output,
    },
  },
  {
    id: 4,
    parent: 1,
    name: "book hotel",
    startMs: 2_300,
    durationMs: 600,
    attributes: { "gen_ai.operation.name": "execute_tool" },
    error: "The hotel is full.",
  },
];
