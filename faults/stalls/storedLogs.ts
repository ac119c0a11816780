import { encodeSpans, newSpan, PROTOBUF } from "../../test/support/otlp.ts";
import { requestsForEachField } from "./everyField.ts";
import { graphql, post, type Send, type StoredData } from "./storing.ts";

const SPANS_AT_ONCE = 10_000;
const REQUESTS = 20;
const BEGUN_NS = 1_763_800_000_000_000_000n;
const NS_PER_MS = 1_000_000n;
const PERIOD = 'from: "2025-01-01T00:00:00Z", to: "2027-12-31T00:00:00Z"';
const MODEL = "of-large-calls";
const GROUPS = ["PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION", "DAY"];
const COUNTED = ["PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION", "STATUS"];

const attribute = (key: string, stringValue: string) => ({ key, value: { stringValue } });

const count = (key: string, intValue: number) => ({ key, value: { intValue } });

const MEMBERS_ASKED_FOR = 10;
const CONDITIONS = 65;
const LONG_SLUG = "x".repeat(4_096);

/** Filters that find nothing, or little, and so read on. */
const filters = {
  "ten members": {
    metadata: Array.from({ length: MEMBERS_ASKED_FOR }, (_, n) => ({ key: `k${n}`, value: "none" })),
  },
  "a user": { userId: ["none"] },
  "an organization": { organizationId: ["none"] },
  "many long conditions": {
    or: Array.from({ length: CONDITIONS }, (_, n) => ({ slug: [`${LONG_SLUG.slice(4)}${n}`] })),
  },
  "the opposite of conditions": { not: { type: ["GENERATION"], model: ["a", MODEL], status: ["OK"] } },
  "words that stand nowhere": { text: "nowhere" },
  "words that begin so": { text: "a* b* c*" },
  "a cost": { minCost: 1_000_000 },
};

const byFilters = Object.fromEntries(
  Object.entries(filters).flatMap(([name, filter]) => [
    [
      `logs by ${name}`,
      graphql("query ($filter: LogFilter!) { logs(first: 100, filter: $filter) { nodes { id } } }", {
        filter,
      }),
    ],
    [
      `traces by ${name}`,
      graphql("query ($filter: LogFilter!) { traces(first: 100, filter: $filter) { nodes { id } } }", {
        filter,
      }),
    ],
  ]),
);

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
    // One call of each trace matches, so that all others are looked through.
    const oneOfEach = {
      userId: Array.from({ length: REQUESTS * scale }, (_, n) => `user ${n * SPANS_AT_ONCE + 5}`),
    };
    const tracesByUser = (page: string) =>
      graphql(
        `query ($filter: LogFilter!) { traces(${page}, filter: $filter) { nodes { id } pageInfo { endCursor } } }`,
        { filter: oneOfEach },
      );
    const [, cursor] = /"endCursor":"([^"]+)"/.exec(await send(tracesByUser("first: 1")))!;
    return {
      ...Object.fromEntries([...usages, ...counts]),
      ...requestsForEachField("logs"),
      ...requestsForEachField("traces"),
      usage: graphql(`{ usage(${PERIOD}, first: 1) { nodes { p50LatencyMs p99LatencyMs } } }`),
      traces: graphql("{ traces(first: 100) { nodes { id name } } }"),
      "traces with a filter": graphql(
        '{ traces(first: 100, filter: { userId: ["user 7"] }) { nodes { id } } }',
      ),
      "trace.logs": graphql("{ traces(first: 1) { nodes { logs(first: 1000) { nodes { depth } } } } }"),
      logs: graphql("{ logs(first: 100) { nodes { id output } } }"),
      ...byFilters,
      "a later page of traces": tracesByUser(`first: 100, after: "${cursor}"`),
      "logs by a word": graphql('{ logs(first: 100, filter: { text: "wo*" }) { nodes { id } } }'),
      "logs by rare metadata": graphql(
        '{ logs(first: 100, filter: { metadata: [{ key: "a", value: "b" }] }) { nodes { id } } }',
      ),
    };
  },
};

const LARGE_TRACES = 60;
const LARGE_CHARACTERS = 9_000_000;

/** A dataset for outputs of logs, and another price than the logs were stored with. */
const PREPARE = `mutation {
  createDataset(input: { slug: "of-logs", columns: [{ name: "output", type: JSON }] }) { __typename }
  setModelPrice(input: { model: "${MODEL}", inputPrice: 5, outputPrice: 1 }) { __typename }
}`;

/** A request of a few kilobytes names them all. */
const largeTraces: StoredData = {
  name: "traces with large payloads",
  store: async (send, scale) => {
    const text = "x".repeat(LARGE_CHARACTERS);
    const traces = Array.from({ length: Math.ceil(LARGE_TRACES * scale) }, () => newSpan().traceId);
    const keys = ["basalt.user.name", "basalt.metadata", "input.value", "gen_ai.output.messages"];
    for (const [n, traceId] of traces.entries())
      await sendSpans(send, [
        newSpan({
          traceId,
          attributes: [
            ...[attribute("basalt.user.id", "a"), attribute(keys[n % keys.length]!, text)],
            ...[attribute("gen_ai.operation.name", "chat"), attribute("gen_ai.request.model", MODEL)],
            ...[count("gen_ai.usage.input_tokens", 1), count("gen_ai.usage.output_tokens", 1)],
          ],
        }),
      ]);
    const found = await send(graphql("{ logs(first: 100) { nodes { id trace { id } } } }"));
    const [, log, trace] = /"id":"([^"]+)","trace":\{"id":"([^"]+)"/.exec(found)!;
    await send(graphql(PREPARE));
    return {
      ...requestsForEachField("logs"),
      ...requestsForEachField("traces"),
      ...requestsForEachField("log", `id: "${log}"`),
      ...requestsForEachField("trace", `id: "${trace}"`),
      ...requestsForEachField("usage", PERIOD),
      ...requestsForEachField("logCounts", `groupBy: USER, ${PERIOD}`),
      ...byFilters,
      "POST /v1/traces": post(
        "/v1/traces",
        encodeSpans(traces.map((traceId) => newSpan({ traceId, endTimeUnixNano: "1763900000000000000" }))),
        PROTOBUF,
      ),
      "logs with their texts": graphql("{ logs(first: 100) { nodes { input output metadata attributes } } }"),
      addLogToDataset: graphql(
        `mutation { addLogToDataset(slug: "of-logs", input: { logId: "${log}" }) { __typename } }`,
      ),
      repriceLogs: [graphql(`mutation { repriceLogs(input: { ${PERIOD} }) { changed } }`)],
      "what pruneTraces would remove": graphql(
        'mutation { pruneTraces(input: { before: "2027-12-31T00:00:00Z", dryRun: true }) { __typename } }',
      ),
      pruneTraces: [
        graphql('mutation { pruneTraces(input: { before: "2027-12-31T00:00:00Z" }) { __typename } }'),
      ],
    };
  },
};

const DENSE_LOGS = 2_000;
const DENSE_AT_ONCE = 20;
const MEMBERS = 5_000;

/** Metadata of many members, none of which is the one that is asked for. */
const denseMetadata: StoredData = {
  name: "logs with dense metadata",
  store: async (send, scale) => {
    const metadata = Object.fromEntries(Array.from({ length: MEMBERS }, (_, n) => [`k${n}`, `v${n}`]));
    for (let logged = 0; logged < DENSE_LOGS * scale; logged += DENSE_AT_ONCE) {
      const logs = Array.from({ length: DENSE_AT_ONCE }, (_, n) => ({
        ...{ id: String(n), type: "span", name: "a", output: "b", metadata },
      }));
      await send(post("/monitor/trace", JSON.stringify({ featureSlug: "a", logs })));
    }
    return {
      ...byFilters,
      "logs with their metadata": graphql("{ logs(first: 100) { nodes { metadata } } }"),
    };
  },
};

export const storedLogs: StoredData[] = [manyCalls, largeTraces, denseMetadata];
