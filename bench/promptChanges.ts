import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, type ClientRequest, get } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { migrate } from "../src/database/migrate.ts";
import { openDatabase } from "../src/database/open.ts";
import { entities } from "../src/entities.ts";
import { seedDatabase } from "../src/sample/seed.ts";
import { startPostgresql } from "./postgresql.ts";
import { type Gateway, startGateway } from "./scale/gateway.ts";

// node bench/promptChanges.ts [--listeners 1000] [--changes 100] [--url URL]
// Opens streams of one prompt at three gateways on one PostgreSQL database, then publishes its versions in turn at the
// gateways, and reports how long each event takes to its listener: from when the change is asked for, and from when it is
// acknowledged. Ends with 1 when the p99 of the former is above 100 ms. Everything is on this machine, at 127.0.0.1.
const { values: given } = parseArgs({
  options: {
    listeners: { type: "string", default: "1000" },
    changes: { type: "string", default: "100" },
    url: { type: "string" },
  },
});
const [listeners, changes] = [given.listeners, given.changes].map(Number) as [number, number];

const GATEWAYS = 3;
const MAX_P99_MS = 100;
const WARM_UP_CHANGES = 10;
const OPEN_AT_ONCE = 50;
const PAUSE_MS = 100;
const MAX_WAIT_MS = 10_000;
const TICKS_IN_A_SECOND = 100;
const SLUG = "welcome";
process.env.OTLP_GRPC_PORT = "off"; // three gateways would ask for the same port

/** When the events of the present change arrived. */
let arrivals: number[] = [];
let allArrived = Promise.withResolvers<void>();

/** Opens a stream, and returns once its first event is there, which is the present state. */
async function follow(url: string, token: string, agent: Agent): Promise<ClientRequest> {
  const headers = { authorization: `Bearer ${token}`, accept: "text/event-stream" };
  const request = get(`${url}/prompts/${SLUG}/events`, { headers, agent });
  const [response] = await once(request, "response");
  if (response.statusCode !== 200) throw new Error(`A stream was answered ${response.statusCode}.`);
  const first = once(response, "data");
  await first;
  response.on("data", (chunk: Buffer) => {
    if (!chunk.includes("publishPrompt")) return; // a comment
    arrivals.push(performance.now());
    if (arrivals.length === listeners) allArrived.resolve();
  });
  return request;
}

async function send(url: string, token: string, path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok || text.includes('"errors"')) throw new Error(text);
}

async function addPrompt(url: string, token: string): Promise<void> {
  const version = (name: string) =>
    `createPromptVersion(slug: "${SLUG}", input: {version: "${name}", text: "${"Hello ".repeat(300)}${name}"}) { warnings { code } }`;
  const query = `mutation { createPrompt(input: {slug: "${SLUG}"}) { prompt { slug } } one: ${version("1")} two: ${version("2")} }`;
  await send(url, token, "/graphql", { query });
}

/** Publishes a version, and gives the times from the request, and from its answer, to each arrival. */
async function change(url: string, token: string, n: number) {
  arrivals = [];
  allArrived = Promise.withResolvers();
  const askedMs = performance.now();
  await send(url, token, `/prompts/${SLUG}/publish`, { newTag: "production", version: `${1 + (n % 2)}` });
  const answeredMs = performance.now();
  await Promise.race([allArrived.promise, wait(MAX_WAIT_MS, null, { ref: false })]);
  if (arrivals.length !== listeners) throw new Error(`${arrivals.length} of ${listeners} events arrived.`);
  const since = (beginMs: number) => arrivals.map((ms) => ms - beginMs);
  return { fromRequest: since(askedMs), fromAnswer: since(answeredMs) };
}

function summary(times: number[]) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (part: number) => Math.round(sorted[Math.ceil(sorted.length * part) - 1]! * 10) / 10;
  return { p50: at(0.5), p99: at(0.99), max: at(1) };
}

/** Seconds that processors spent for the gateways; null where the system does not report it. */
async function processorTime(gateways: Gateway[]): Promise<number | null> {
  try {
    const stats = await Promise.all(gateways.map(({ pid }) => readFile(`/proc/${pid}/stat`, "utf8")));
    const fields = stats.map((stat) => stat.replace(/^.*\) /, "").split(" "));
    return fields.reduce((sum, of) => sum + Number(of[11]) + Number(of[12]), 0) / TICKS_IN_A_SECOND;
  } catch {
    return null;
  }
}

async function measure(databaseUrl: string, token: string, gateways: Gateway[]) {
  for (let n = 0; n < GATEWAYS; n++) gateways.push(await startGateway(databaseUrl));
  const urls = gateways.map(({ url }) => url);
  await addPrompt(urls[0]!, token);
  const agent = new Agent({ keepAlive: false });
  const streams: ClientRequest[] = [];
  for (let from = 0; from < listeners; from += OPEN_AT_ONCE) {
    const count = Math.min(OPEN_AT_ONCE, listeners - from);
    const opening = Array.from({ length: count }, (_, at) =>
      follow(urls[(from + at) % GATEWAYS]!, token, agent),
    );
    streams.push(...(await Promise.all(opening)));
  }
  const fromRequest: number[] = [];
  const fromAnswer: number[] = [];
  let before: number | null = null;
  for (let n = 0; n < WARM_UP_CHANGES + changes; n++) {
    if (n === WARM_UP_CHANGES) before = await processorTime(gateways);
    const times = await change(urls[n % GATEWAYS]!, token, n);
    if (n >= WARM_UP_CHANGES) {
      fromRequest.push(...times.fromRequest);
      fromAnswer.push(...times.fromAnswer);
    }
    await wait(PAUSE_MS);
  }
  const after = await processorTime(gateways);
  for (const stream of streams) stream.destroy();
  const used = before !== null && after !== null ? Math.round(((after - before) * 1_000) / changes) : null;
  return { fromRequest: summary(fromRequest), fromAnswer: summary(fromAnswer), gatewaysMsPerChange: used };
}

const server = given.url ? null : await startPostgresql({});
const databaseUrl = given.url ?? server!.url;
const gateways: Gateway[] = [];
try {
  const database = await openDatabase(databaseUrl, entities);
  await migrate(database);
  const seeded = await seedDatabase(database, { firstToken: null, sample: "empty" });
  await database.close();
  if (!seeded) throw new Error("The database must be empty.");
  const figures = await measure(databaseUrl, seeded.token, gateways);
  process.stdout.write(`${JSON.stringify({ gateways: GATEWAYS, listeners, changes, ...figures })}\n`);
  process.exitCode = figures.fromRequest.p99 > MAX_P99_MS ? 1 : 0;
} finally {
  for (const gateway of gateways) await gateway.stop();
  await server?.stop();
}
