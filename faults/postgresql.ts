import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { findBinaries, freePort, newCluster } from "../test/support/postgresServer.ts";

const ATTEMPTS = 600;
const BETWEEN_MS = 50;

/** A PostgreSQL server of its own that can be killed with all its processes, and started again on the same files. */
export async function startPostgresql(settings: Record<string, string> = {}) {
  const native = findBinaries();
  if (!native) throw new Error("There is no PostgreSQL for this machine in node_modules.");
  const folder = await mkdtemp(join(tmpdir(), "gabbro-faults-"));
  const cluster = await newCluster(native, folder);
  const port = await freePort();
  const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;
  const start = async () => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      // Until the processes of the last one are gone altogether it refuses to start.
      if (!server || server.exitCode !== null || server.signalCode !== null)
        server = cluster.start(port, settings);
      if (await answers(url)) return;
      await wait(BETWEEN_MS);
    }
    throw new Error("PostgreSQL does not start.");
  };
  const kill = async () => {
    const ended = once(server!, "exit");
    const others = childrenOf(server!.pid!);
    server!.kill("SIGKILL");
    for (const pid of others) signalIfThere(pid, "SIGKILL");
    await ended;
  };
  /** Has all its processes sleep, or go on: it then takes connections and answers none. */
  const signal = (name: "SIGSTOP" | "SIGCONT") => {
    for (const pid of [server!.pid!, ...childrenOf(server!.pid!)]) signalIfThere(pid, name);
  };
  await start();
  return {
    url,
    start,
    kill,
    fallSilent: () => signal("SIGSTOP"),
    goOn: () => signal("SIGCONT"),
    remove: async () => {
      if (server!.exitCode === null && server!.signalCode === null) await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
  client.on("error", () => {}); // the query reports it
  try {
    await client.connect();
    await client.query("select 1");
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}

function childrenOf(parent: number): number[] {
  const processes = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" }).trim().split("\n");
  return processes.flatMap((line) => {
    const [pid, ppid] = line.trim().split(/\s+/).map(Number);
    return ppid === parent ? [pid!] : [];
  });
}

function signalIfThere(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
