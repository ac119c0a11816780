import { chances, orderOf, SLUGS, USERS, wordOf } from "./generator.ts";

/** A workspace that is asked, and where its logs are in time. */
export interface Target {
  name: string;
  url: string;
  token: string;
  from: Date;
  to: Date;
  /** How many logs the workspace has, and the database. */
  own: number;
  all: number;
}

export interface Request {
  method: "GET" | "POST";
  path: string;
  body?: unknown;
}

export interface Probe {
  name: string;
  /** How often in a round. */
  times: number;
  request(target: Target, chance: () => number): Request;
}

const DAY_MS = 86_400_000;
const LOGS = `query($filter: LogFilter) { logs(filter: $filter, first: 20) { nodes {
  id startTime input output cost latencyMs trace { id name } } } }`;
const USAGE = `query($from: DateTime!, $to: DateTime!, $by: UsageGroup) {
  usage(from: $from, to: $to, groupBy: $by) { nodes { key logs totalTokens cost p50LatencyMs p99LatencyMs } } }`;
const TEXT = "What is the capital of Kenya? ".repeat(14);

export const record = {
  ...{ slug: "prompt-0", input: TEXT, output: TEXT, inputTokens: 120, outputTokens: 118, cost: 0.0004 },
  ...{ user: { id: "user-1", name: "One" }, metadata: { region: "eu", attempt: 1 } },
};

const graphql = (query: string, variables: object): Request => ({
  method: "POST",
  path: "/graphql",
  body: { query, variables },
});

const filtered = (name: string, times: number, filter: (pick: Pick, target: Target) => object): Probe => ({
  name,
  times,
  request: (target, chance) =>
    graphql(LOGS, { filter: filter((below) => Math.floor(chance() * below), target) }),
});

type Pick = (below: number) => number;

/** A time somewhere among the logs, of so many days. */
function timeOf({ from, to }: Target, days: number, chance: () => number) {
  const room = to.getTime() - from.getTime() - days * DAY_MS;
  const start = from.getTime() + Math.floor(chance() * Math.max(0, room));
  return { from: new Date(start), to: new Date(start + days * DAY_MS) };
}

const summed = (
  name: string,
  times: number,
  daysOf: (target: Target) => number,
  by: string | null,
): Probe => ({
  name,
  times,
  request: (target, chance) => graphql(USAGE, { ...timeOf(target, daysOf(target), chance), by }),
});

/** So many days as have about as many logs in every workspace that is asked. */
const equal =
  (logs: number) =>
  ({ own }: Target) =>
    Math.min(360, (logs * 365) / own);

const GROUPS = ["PROMPT", "VERSION", "MODEL", "USER", "ORGANIZATION"];

export const probes: Probe[] = [
  {
    name: "describe a prompt",
    times: 200,
    request: () => ({ method: "GET", path: "/prompts/prompt-0/describe" }),
  },
  {
    name: "read a dataset of 1,000 rows",
    times: 40,
    request: () => ({ method: "GET", path: "/datasets/large" }),
  },
  {
    name: "add a row",
    times: 100,
    request: () => ({
      method: "POST",
      path: "/datasets/small/items",
      body: { values: { question: "Where is Nairobi?", answer: "In Kenya" } },
    }),
  },
  {
    name: "log a prompt",
    times: 150,
    request: () => ({ method: "POST", path: "/monitor/log", body: record }),
  },
  filtered("logs, first page", 100, () => ({})),
  filtered("logs of a prompt", 100, (pick) => ({ slug: SLUGS[pick(SLUGS.length)] })),
  filtered("logs of a user", 100, (pick) => ({ userId: `user-${pick(USERS / 4)}` })),
  filtered("logs with a word that one log has", 60, (pick, { all }) => ({ text: orderOf(pick(all)) })),
  filtered("logs with two of the rarer words", 60, (pick) => ({
    text: `${wordOf(500 + pick(1_000))} ${wordOf(500 + pick(1_000))}`,
  })),
  filtered("logs with a word that most have", 30, (pick) => ({ text: wordOf(pick(5)) })),
  filtered("logs by metadata", 60, (pick) => ({
    metadata: [{ key: "session", value: `s${pick(100_000)}` }],
  })),
  summed("usage of a day", 40, () => 1, null),
  summed("usage of a month by day", 20, () => 30, "DAY"),
  ...GROUPS.map((by) => summed(`usage of a month by ${by.toLowerCase()}`, 12, () => 30, by)),
  summed("usage of the time of 2,500 logs by prompt", 12, equal(2_500), "PROMPT"),
];

/** Asks once and gives how long the whole answer took. */
export async function ask(target: Target, { method, path, body }: Request): Promise<number> {
  const began = performance.now();
  const response = await fetch(target.url + path, {
    method,
    headers: { authorization: `Bearer ${target.token}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const tookMs = performance.now() - began;
  if (!response.ok || text.startsWith('{"errors"')) throw new Error(`${path}: ${response.status} ${text}`);
  return tookMs;
}

/** All latencies of a probe, target by target, round by round. */
export async function measure(probe: Probe, targets: Target[], rounds: number): Promise<number[][]> {
  const found: number[][] = targets.map(() => []);
  const chance = targets.map((_, at) => chances(at + 1));
  for (const [at, target] of targets.entries())
    for (let n = 0; n < 3; n++) await ask(target, probe.request(target, chance[at]!));
  for (let round = 0; round < rounds; round++)
    for (const [at, target] of targets.entries())
      for (let n = 0; n < probe.times; n++)
        found[at]!.push(await ask(target, probe.request(target, chance[at]!)));
  return found;
}

/** By nearest rank. */
export function percentile(values: number[], percentage: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil((percentage * sorted.length) / 100) - 1)]!;
}
