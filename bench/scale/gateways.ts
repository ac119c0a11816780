import { readFile } from "node:fs/promises";
import pg from "pg";
import { type Gateway, load, startGateway } from "./gateway.ts";
import { record } from "./probes.ts";

const SECONDS = 5;
const WARM_UP_SECONDS = 2;
const CONNECTIONS = 48;
const TICKS_IN_A_SECOND = 100;

interface Part {
  method: string;
  path: string;
  body?: unknown;
}

const log: Part = { method: "POST", path: "/monitor/log", body: record };
const describe: Part = { method: "GET", path: "/prompts/prompt-0/describe" };

export const loads: { name: string; parts: Part[] }[] = [
  { name: "log a prompt, 1 kB", parts: [log] },
  { name: "describe a prompt", parts: [describe] },
  { name: "both, half of the connections each", parts: [log, describe] },
];

export interface Throughput {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Processor time of all gateways and of the database for a request; null where the system does not report it. */
  gatewayMs: number | null;
  databaseMs: number | null;
}

/** What so many gateways on one database serve together of the same load. */
export async function throughput(
  databaseUrl: string,
  token: string,
  parts: Part[],
  count: number,
): Promise<Throughput> {
  const gateways: Gateway[] = [];
  for (let n = 0; n < count; n++) gateways.push(await startGateway(databaseUrl));
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const connections = CONNECTIONS / count / parts.length;
  const run = (seconds: number) =>
    Promise.all(
      gateways.flatMap(({ url }) =>
        parts.map(({ path, ...part }) => load({ ...part, url: url + path, headers, connections, seconds })),
      ),
    );
  try {
    await run(WARM_UP_SECONDS);
    const before = await processorTime(databaseUrl, gateways);
    const figures = await run(SECONDS);
    const after = await processorTime(databaseUrl, gateways);
    const failed = figures.reduce((sum, figure) => sum + figure.failed, 0);
    if (failed > 0) throw new Error(`${failed} requests failed.`);
    const perSecond = figures.reduce((sum, figure) => sum + figure.perSecond, 0);
    const each = (part: "gateways" | "database") =>
      before && after ? ((after[part] - before[part]) * 1_000) / (perSecond * SECONDS) : null;
    return {
      perSecond,
      p50Ms: Math.max(...figures.map(({ p50Ms }) => p50Ms)),
      p99Ms: Math.max(...figures.map(({ p99Ms }) => p99Ms)),
      gatewayMs: each("gateways"),
      databaseMs: each("database"),
    };
  } finally {
    for (const gateway of gateways) await gateway.stop();
  }
}

/** Seconds that processors spent for the gateways and for the server of the database, when it runs here on Linux. */
async function processorTime(databaseUrl: string, gateways: Gateway[]) {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>("select pid from pg_stat_activity");
    const own = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
    const server = (await statOf(own.rows[0]!.pid)).parent;
    const backends = await Promise.all(rows.map(({ pid }) => statOf(pid)));
    const database = [...backends, await statOf(server)].reduce((sum, { seconds }) => sum + seconds, 0);
    const stats = await Promise.all(gateways.map(({ pid }) => statOf(pid)));
    return { gateways: stats.reduce((sum, { seconds }) => sum + seconds, 0), database };
  } catch {
    return null; // another system, or the database is on another machine
  } finally {
    await client.end();
  }
}

async function statOf(pid: number): Promise<{ parent: number; seconds: number }> {
  const fields = (await readFile(`/proc/${pid}/stat`, "utf8"))
    .replace(/^.*\) /, "")
    .split(" ")
    .map(Number);
  const [user, system] = [fields[11]!, fields[12]!];
  return { parent: fields[1]!, seconds: (user + system) / TICKS_IN_A_SECOND };
}
