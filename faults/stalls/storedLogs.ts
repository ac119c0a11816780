import { encodeSpans, newSpan, PROTOBUF } from "../../test/support/otlp.ts";
import { graphql, post, type Send, type StoredData } from "./storing.ts";

const SPANS_AT_ONCE = 10_000;
const REQUESTS = 20;
const BEGUN_NS = 1_763_800_000_000_000_000n;
const NS_PER_MS = 1_000_000n;
const PERIOD = 'from: "2025-01-01T00:00:00Z", to: "2027-12-31T00:00:00Z"';
const GROUPS = ["PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION", "DAY"];
const COUNTED = ["PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION", "STATUS"];

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

async function sendSpans(send: Send, spans: object[]): Promise<void> {
  await send(post("/v1/traces", encodeSpans(spans), PROTOBUF));
}

/** Each call took another time, for another user; each request is a trace. */
const manyCalls: StoredData = {
  name: "calls whose latencies and users differ",
  store: async (send, scale) => {
    for (let call = 0; call < SPANS_AT_ONCE * REQUESTS * scale; call += SPANS_AT_ONCE) {
      const { traceId } = newSpan();
      const spans = Array.from({ length: SPANS_AT_ONCE }, (_, n) =>
        newSpan({
          traceId,
          endTimeUnixNano: String(BEGUN_NS + BigInt(1 + call + n) * NS_PER_MS),
          attributes: [
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.request.model", "gpt-5"),
            attribute("gen_ai.output.messages", `word ${n}`),
            attribute("user.id", `user ${call + n}`),
          ],
        }),
      );
      await sendSpans(send, spans);
    }
    const usages = GROUPS.map((group) => [
      `usage by ${group}`,
      graphql(`{ usage(${PERIOD}, groupBy: ${group}, first: 100) { nodes { key p50LatencyMs } } }`),
    ]);
    const counts = COUNTED.map((group) => [
      `logCounts by ${group}`,
      graphql(`{ logCounts(${PERIOD}, groupBy: ${group}, first: 100) { nodes { key logs } } }`),
    ]);
    return {
      ...Object.fromEntries([...usages, ...counts]),
      usage: graphql(`{ usage(${PERIOD}, first: 1) { nodes { p50LatencyMs p99LatencyMs } } }`),
      traces: graphql("{ traces(first: 100) { nodes { id name } } }"),
      "traces with a filter": graphql(
        '{ traces(first: 100, filter: { userId: ["user 7"] }) { nodes { id } } }',
      ),
      "trace.logs": graphql("{ traces(first: 1) { nodes { logs(first: 1000) { nodes { depth } } } } }"),
      logs: graphql("{ logs(first: 100) { nodes { id output } } }"),
      "logs by a word": graphql('{ logs(first: 100, filter: { text: "wo*" }) { nodes { id } } }'),
      "logs by rare metadata": graphql(
        '{ logs(first: 100, filter: { metadata: [{ key: "a", value: "b" }] }) { nodes { id } } }',
      ),
    };
  },
};

const LARGE_TRACES = 60;
const LARGE_CHARACTERS = 9_000_000;

/** A request of a few kilobytes names them all. */
const largeTraces: StoredData = {
  name: "traces with large payloads",
  store: async (send, scale) => {
    const text = "x".repeat(LARGE_CHARACTERS);
    const traces = Array.from({ length: Math.ceil(LARGE_TRACES * scale) }, () => newSpan().traceId);
    const keys = ["basalt.user.name", "basalt.metadata", "input.value"];
    for (const [n, traceId] of traces.entries())
      await sendSpans(send, [
        newSpan({
          traceId,
          attributes: [attribute("basalt.user.id", "a"), attribute(keys[n % keys.length]!, text)],
        }),
      ]);
    return {
      "POST /v1/traces": post(
        "/v1/traces",
        encodeSpans(traces.map((traceId) => newSpan({ traceId, endTimeUnixNano: "1763900000000000000" }))),
        PROTOBUF,
      ),
      traces: graphql("{ traces(first: 100) { nodes { id name metadata input } } }"),
      "logs with their texts": graphql("{ logs(first: 100) { nodes { input output metadata attributes } } }"),
      usage: graphql(`{ usage(${PERIOD}, groupBy: USER, first: 100) { nodes { key } } }`),
    };
  },
};

export const storedLogs: StoredData[] = [manyCalls, largeTraces];
