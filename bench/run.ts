import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { freePort } from "../test/postgresServer.ts";
import { type Case, cases } from "./cases.ts";
import { prepare, TOKEN } from "./prepare.ts";

// npm run bench [-- FILTER]: measures each case against its baselines, round by round, and writes bench/results.md.
const ROUNDS = 3;
const SECONDS = 4;
const WARM_UP_SECONDS = 2;
const CONNECTIONS = 64;

type Server = "bare" | "plain" | "gabbro";
interface Figures {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  failed: number;
  peakMb: number | null;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const programs: Record<Server, string[]> = {
  bare: [here("servers/bare.ts")],
  plain: [here("servers/plain.ts")],
  gabbro: [here("../bin/gabbro.js"), "serve"],
};
const canPin = process.platform === "linux" && cpus().length > 1;

/** A command that runs Node.js on one core, where the machine lets us choose. */
function pinned(core: number, args: string[]): [string, string[]] {
  return canPin ? ["taskset", ["-c", String(core), process.execPath, ...args]] : [process.execPath, args];
}

async function start(server: Server, database: string) {
  const port = await freePort();
  const [command, args] = pinned(0, programs[server]);
  const env = {
    ...process.env,
    ...{ PORT: String(port), HOST: "127.0.0.1" },
    ...{ BENCH_DATABASE: database, DATABASE_URL: `sqlite:${database}` },
  };
  const child = spawn(command, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => /ready/.test(chunk.toString()) && resolve());
    child.once("exit", () => reject(new Error(`The server ${server} ended early.`)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    peakMb: () => peakMb(child.pid!),
    stop: async () => {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

async function peakMb(pid: number): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const peak = /VmHWM:\s+(\d+) kB/.exec(status)?.[1];
  return peak ? Math.round(Number(peak) / 1024) : null;
}

async function measure(server: Server, wanted: Case, prepared: string): Promise<Figures> {
  const database = `${prepared}-${server}`;
  await copyFile(prepared, database);
  const running = await start(server, database);
  const isBase = server === "bare" || (server === "plain" && wanted.path !== "/graphql");
  const request = {
    url: running.url + (isBase ? (wanted.basePath ?? wanted.path) : wanted.path),
    method:
      isBase && !(wanted.baseBody ?? (wanted.basePath ? undefined : wanted.body)) ? "GET" : wanted.method,
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: isBase && wanted.basePath ? wanted.baseBody : wanted.body,
    connections: wanted.connections ?? CONNECTIONS,
  };
  try {
    await load({ ...request, seconds: WARM_UP_SECONDS });
    const figures = await load({ ...request, seconds: SECONDS });
    if (figures.failed > 0)
      throw new Error(`${server} failed ${figures.failed} requests of "${wanted.name}".`);
    return { ...figures, peakMb: await running.peakMb() };
  } finally {
    await running.stop();
    for (const end of ["", "-wal", "-shm"]) await rm(`${database}${end}`, { force: true });
  }
}

async function load(request: object): Promise<Omit<Figures, "peakMb">> {
  const [command, args] = pinned(1, [here("load.ts"), JSON.stringify(request)]);
  const { stdout } = await promisify(execFile)(command, args);
  return JSON.parse(stdout);
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function summary(figures: Figures[]): Figures {
  const of = (name: keyof Figures) => median(figures.map((each) => each[name] ?? 0));
  return {
    perSecond: of("perSecond"),
    p50Ms: of("p50Ms"),
    p99Ms: of("p99Ms"),
    failed: 0,
    peakMb: of("peakMb"),
  };
}

const HEAD = ["work", "server", "requests/s", "p50 ms", "p99 ms", "peak MB", "Gabbro's ratio", "wanted"];

async function runCase(wanted: Case, prepared: string): Promise<string[]> {
  const servers: Server[] = [...wanted.against, "gabbro"];
  const found = new Map<Server, Figures[]>(servers.map((server) => [server, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const server of servers) found.get(server)!.push(await measure(server, wanted, prepared));
  const own = summary(found.get("gabbro")!);
  return servers.map((server) => {
    const { perSecond, p50Ms, p99Ms, peakMb } = summary(found.get(server)!);
    const isOwn = server === "gabbro";
    const ratio = isOwn ? "" : (own.perSecond / perSecond).toFixed(2);
    const target = isOwn ? "" : String(wanted.targets[server as "bare"] ?? "");
    const figures = [Math.round(perSecond), p50Ms, p99Ms, peakMb ?? "?"];
    return `| ${[wanted.name, server, ...figures, ratio, target].join(" | ")} |`;
  });
}

const filter = process.argv[2] ?? "";
const folder = await mkdtemp(join(tmpdir(), "gabbro-bench-"));
try {
  const prepared = join(folder, "prepared.sqlite");
  await prepare(prepared);
  const lines = [`| ${HEAD.join(" | ")} |`, `|${HEAD.map(() => "---|").join("")}`];
  process.stdout.write(`${lines.join("\n")}\n`);
  for (const wanted of cases.filter(({ name }) => name.includes(filter))) {
    const found = await runCase(wanted, prepared);
    process.stdout.write(`${found.join("\n")}\n`);
    lines.push(...found);
  }
  const machine = `${cpus().length} cores ${cpus()[0]?.model ?? "?"}, Node.js ${process.version}`;
  const how = `Each figure is the median of ${ROUNDS} rounds of ${SECONDS} s after ${WARM_UP_SECONDS} s of warming up, server and load each on a core of their own (${machine}). Only the ratios are claims.`;
  if (!filter) await writeFile(here("results.md"), `# Measured\n\n${how}\n\n${lines.join("\n")}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
