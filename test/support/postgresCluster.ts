import { type ChildProcess, spawn } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { ended, findBinaries, freePort, newCluster, serving, someoneElse } from "./postgresServer.ts";

// Run as a program: starts a PostgreSQL server and another one that follows it, prints their URLs as a line of JSON, and
// then kills and starts them as the lines of its standard input say. It ends, and removes all it made, when that closes.

type Name = "primary" | "replica";

const settings = { fsync: "off", full_page_writes: "off", wal_level: "replica", hot_standby: "on" };

async function run(native: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-cluster-"));
  const running = new Map<Name, ChildProcess>();
  const kill = async (name: Name) => {
    const server = running.get(name);
    running.delete(name);
    if (!server || server.exitCode !== null || server.signalCode !== null) return;
    const gone = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGKILL");
    await gone;
  };
  const stop = async () => {
    await Promise.all([kill("primary"), kill("replica")]);
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    process.exit();
  };
  try {
    const cluster = await newCluster(native, folder);
    const files = { primary: cluster.data, replica: join(folder, "replica") };
    const ports = { primary: await freePort(), replica: await freePort() };
    const urlOf = (name: Name) => `postgresql://postgres@127.0.0.1:${ports[name]}/postgres`;
    await follow(files, `host=127.0.0.1 port=${ports.primary} user=postgres application_name=replica`);
    const start = async (name: Name) => {
      running.set(name, cluster.start(ports[name], settings, files[name]));
      await serving(urlOf(name));
    };
    await start("primary");
    await start("replica");
    process.stdout.write(`${JSON.stringify({ primary: urlOf("primary"), replica: urlOf("replica") })}\n`);
    const commands = { kill, start };
    for await (const line of createInterface(process.stdin)) {
      const [command, name] = line.split(" ") as [keyof typeof commands, Name];
      await commands[command](name);
      process.stdout.write(`${line}\n`);
    }
  } catch (error) {
    process.stderr.write(`${error}\n`);
  }
  await stop();
}

/** Makes a replica of a server that has not started yet. */
async function follow(files: Record<Name, string>, primary: string): Promise<void> {
  await cp(files.primary, files.replica, { recursive: true });
  await writeFile(join(files.replica, "standby.signal"), "");
  await writeFile(join(files.replica, "postgresql.auto.conf"), `primary_conninfo = '${primary}'\n`);
  const user = someoneElse();
  if (user)
    await ended(spawn("chown", ["-R", `${user.uid}:${user.gid}`, files.replica], { stdio: "inherit" }));
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {}); // the end of input decides
await run(findBinaries()!);
