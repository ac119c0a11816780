import { randomBytes } from "node:crypto";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { encode } from "../test/support/otlpProto.ts";
import type { Claim } from "./claim.ts";
import { headers, median, type Server, start } from "./processes.ts";

const ROUNDS = 5;
const BATCHES = 60;
const WARM_UP_BATCHES = 20;
export const SPANS = 512; // the batch of OpenTelemetry's exporters
export const SPANS_IN_TRACE = 20;
const CALLERS = 4;

/** Words that do not repeat much, as in real text. */
const words = Array.from({ length: 5_000 }, () => randomBytes(3).toString("hex"));
export function text(characters: number): string {
  let some = "";
  while (some.length < characters) some += `${words[Math.floor(Math.random() * words.length)]} `;
  return some.slice(0, characters);
}

export const message = (role: string, content: string) =>
  JSON.stringify([{ role, parts: [{ type: "text", content }] }]);

const attributesOf = (values: Record<string, string | number>) =>
  Object.entries(values).map(([key, value]) => ({
    key,
    value: typeof value === "string" ? { stringValue: value } : { intValue: value },
  }));

/** A request with 512 spans of calls, each of 1.4 kB, in traces of 20. */
export function batchOf(spansInTrace = SPANS_IN_TRACE, count = SPANS): Buffer {
  const spans: object[] = [];
  let [traceId, rootId] = [randomBytes(16), randomBytes(8)];
  for (let n = 0; n < count; n++) {
    const isRoot = n % spansInTrace === 0;
    const spanId = randomBytes(8);
    if (isRoot) [traceId, rootId] = [randomBytes(16), spanId];
    const startMs = Date.now() + n;
    spans.push({
      ...{ traceId, spanId, name: "chat gpt-4o-mini", kind: 3 },
      ...(!isRoot && { parentSpanId: rootId }),
      startTimeUnixNano: `${startMs}000000`,
      endTimeUnixNano: `${startMs + 7}000000`,
      attributes: attributesOf({
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 100 + n,
        "gen_ai.usage.output_tokens": 10,
        "gen_ai.input.messages": message("user", text(600)),
        "gen_ai.output.messages": message("assistant", text(400)),
      }),
    });
  }
  return encode("TraceRequest", { resourceSpans: [{ scopeSpans: [{ scope: { name: "bench" }, spans }] }] });
}

const protobuf = { ...headers, "content-type": "application/x-protobuf" };

export async function send(url: string, bodies: Buffer[]): Promise<void> {
  const waiting = [...bodies];
  const call = async () => {
    for (let body = waiting.pop(); body; body = waiting.pop()) {
      const answer = await fetch(`${url}/v1/traces`, {
        method: "POST",
        headers: protobuf,
        body: new Uint8Array(body),
      });
      const bytes = await answer.arrayBuffer();
      if (!answer.ok || bytes.byteLength > 0) throw new Error(`Not all spans were stored: ${answer.status}.`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}

/** Spans a second that a server takes over OTLP, once it is warm; what it stores stays there. */
export async function rateOfSpans(url: string): Promise<number> {
  const batches = (count: number) => Array.from({ length: count }, () => batchOf());
  await send(url, batches(WARM_UP_BATCHES));
  const bodies = batches(BATCHES);
  const sinceMs = performance.now();
  await send(url, bodies);
  return (BATCHES * SPANS * 1_000) / (performance.now() - sinceMs);
}

async function spansPerSecond(server: Server, folder: string): Promise<number> {
  const file = join(folder, `spans-${server}.sqlite`);
  await copyFile(join(folder, "prepared.sqlite"), file);
  const running = await start(server, file);
  try {
    return await rateOfSpans(running.url);
  } finally {
    await running.stop();
    for (const end of ["", "-wal", "-shm"]) await rm(`${file}${end}`, { force: true });
  }
}

export const spansByOtlp: Claim = {
  name: "POST /v1/traces, protobuf, 512 spans of 1.4 kB with their words",
  wanted: "at least 0.5 times a bare server that decodes and inserts",
  measure: async (folder) => {
    const found: Record<"bare" | "gabbro", number[]> = { bare: [], gabbro: [] };
    for (let round = 0; round < ROUNDS; round++)
      for (const server of ["bare", "gabbro"] as const)
        found[server].push(await spansPerSecond(server, folder));
    const [bare, gabbro] = [median(found.bare), median(found.gabbro)];
    const measured = `${(gabbro / bare).toFixed(2)} times (${Math.round(gabbro)} and ${Math.round(bare)} spans/s)`;
    return { measured, isMet: gabbro >= 0.5 * bare };
  },
};

const LARGE_TRACE = 10_000;
const WARM_UP_ROUNDS = 10; // what runs for days is compiled to its end, as for the cases
const TREE = `query($id: ID!, $after: String) { trace(id: $id) { logs(first: 2000, after: $after) {
  nodes { id parentId depth name type status startTime offsetMs durationMs cost usage { inputTokens outputTokens }
    subtree { logs errors cost inputTokens outputTokens } }
  pageInfo { hasNextPage endCursor } } } }`;

export const largeTrace: Claim = {
  name: "a trace of 10,000 logs: its first page of 500, all of it in pages of 2,000",
  wanted: "under 50 ms; under 400 ms",
  measure: async (folder) => {
    const file = join(folder, "largeTrace.sqlite");
    await copyFile(join(folder, "prepared.sqlite"), file);
    const running = await start("gabbro", file);
    const ask = async (query: string, variables: object) => {
      const body = JSON.stringify({ query, variables });
      const answer = await fetch(`${running.url}/graphql`, { method: "POST", headers, body });
      const { data, errors } = await answer.json();
      if (errors) throw new Error(errors[0].message);
      return data;
    };
    await send(running.url, [batchOf(LARGE_TRACE, LARGE_TRACE)]);
    const [{ id }] = (await ask("{ traces(first: 1) { nodes { id } } }", {})).traces.nodes;
    const [first, whole]: number[][] = [[], []];
    for (let round = -WARM_UP_ROUNDS; round < 2 * ROUNDS; round++) {
      if (round === 0) for (const times of [first!, whole!]) times.length = 0;
      let sinceMs = performance.now();
      await ask(TREE.replace("first: 2000", "first: 500"), { id });
      first!.push(performance.now() - sinceMs);
      sinceMs = performance.now();
      for (let after: string | undefined, more = true; more; ) {
        const { pageInfo } = (await ask(TREE, { id, after })).trace.logs;
        [after, more] = [pageInfo.endCursor, pageInfo.hasNextPage];
      }
      whole!.push(performance.now() - sinceMs);
    }
    await running.stop();
    const [firstMs, wholeMs] = [median(first!), median(whole!)];
    return {
      measured: `${Math.round(firstMs)} ms; ${Math.round(wholeMs)} ms`,
      isMet: firstMs < 50 && wholeMs < 400,
    };
  },
};
