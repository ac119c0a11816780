import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import packageJson from "../package.json" with { type: "json" };
import { freePort } from "../test/support/postgresServer.ts";
import { TOKEN } from "./prepare.ts";

export type Server = "bare" | "plain" | "gabbro";
export type Running = Awaited<ReturnType<typeof start>>;

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** What `npm start` gives to Node.js, in the folder of the project. */
export const startCommand = packageJson.scripts.start.split(" ").slice(1);
const programs: Record<Server, string[]> = {
  bare: [here("servers/bare.ts")],
  plain: [here("servers/plain.ts")],
  gabbro: startCommand,
};
const LOAD_CORE = 1;
const canPin = process.platform === "linux" && cpus().length > 1;

/** What the caller of every request is known by, and that the body is JSON. */
export const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };

/** A command that runs Node.js on one core, where the machine lets us choose. */
function pinned(core: number, args: string[]): [string, string[]] {
  return canPin ? ["taskset", ["-c", String(core), process.execPath, ...args]] : [process.execPath, args];
}

/** Has this process, too, run where the load does, so that what it reads does not take the server's time. */
export function joinLoad(): void {
  if (canPin) execFileSync("taskset", ["-acp", String(LOAD_CORE), String(process.pid)]);
}

/** Starts a server on the first core over a database: the path of an SQLite file, or a URL. */
export async function start(server: Server, database: string) {
  const port = await freePort();
  const [command, args] = pinned(0, programs[server]);
  const env = {
    ...process.env,
    ...{ PORT: String(port), OTLP_GRPC_PORT: "off", HOST: "127.0.0.1", BENCH_DATABASE: database },
    ...{ DATABASE_URL: database.includes(":") ? database : `sqlite:${database}` },
  };
  const began = performance.now();
  const child = spawn(command, args, { cwd: here(".."), env, stdio: ["ignore", "pipe", "inherit"] });
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => /ready/.test(chunk.toString()) && resolve());
    child.once("exit", () => reject(new Error(`The server ${server} ended early.`)));
  });
  const memoryMb = async (of: "VmHWM" | "VmRSS") => {
    const status = await readFile(`/proc/${child.pid}/status`, "utf8").catch(() => "");
    const kb = new RegExp(`${of}:\\s+(\\d+) kB`).exec(status)?.[1];
    return kb ? Math.round(Number(kb) / 1024) : null;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    readyAfterMs: performance.now() - began,
    peakMb: () => memoryMb("VmHWM"),
    memoryMb: () => memoryMb("VmRSS"),
    stop: async () => {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

export interface Load {
  url: string;
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: unknown;
  connections: number;
  seconds: number;
  /** Requests a second of all connections together; as many as go when it is left out. */
  rate?: number;
}

export interface Loaded {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  failed: number;
}

/** Sends one request again and again from the second core. */
export async function load(request: Load): Promise<Loaded> {
  const [command, args] = pinned(LOAD_CORE, [here("load.ts"), JSON.stringify(request)]);
  const { stdout } = await promisify(execFile)(command, args);
  return JSON.parse(stdout);
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
