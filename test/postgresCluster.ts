import { type ChildProcess, spawn } from "node:child_process";
import { chown, cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { copyBinaries, ended, findBinaries, freePort, serving, someoneElse } from "./postgresServer.ts";

// Run as a program: starts a PostgreSQL server and another one that follows it, prints their URLs as a line of JSON, and
// then kills and starts them as the lines of its standard input say. It ends, and removes all it made, when that closes.

type Name = "primary" | "replica";

const settings = {
  listen_addresses: "127.0.0.1",
  unix_socket_directories: "",
  fsync: "off",
  full_page_writes: "off",
  wal_level: "replica",
  hot_standby: "on",
  log_min_messages: "panic",
};

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
    const user = someoneElse();
    const bin = join(await copyBinaries(native, folder), "bin");
    if (user) await chown(folder, user.uid, user.gid);
    const options = { ...user, cwd: folder };
    const dataOf = (name: Name) => join(folder, name);
    const locale = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
    const initial = ["-D", dataOf("primary"), "-U", "postgres", "--auth=trust", "--no-sync", ...locale];
    await ended(spawn(join(bin, "initdb"), initial, { ...options, stdio: ["ignore", "ignore", "inherit"] }));
    const ports = { primary: await freePort(), replica: await freePort() };
    const urlOf = (name: Name) => `postgresql://postgres@127.0.0.1:${ports[name]}/postgres`;
    await cp(dataOf("primary"), dataOf("replica"), { recursive: true });
    await writeFile(join(dataOf("replica"), "standby.signal"), "");
    const follows = `host=127.0.0.1 port=${ports.primary} user=postgres application_name=replica`;
    await writeFile(join(dataOf("replica"), "postgresql.auto.conf"), `primary_conninfo = '${follows}'\n`);
    if (user) await ownAll(dataOf("replica"), user);
    const start = async (name: Name) => {
      const given = Object.entries(settings).flatMap(([setting, value]) => ["-c", `${setting}=${value}`]);
      const args = ["-D", dataOf(name), "-p", String(ports[name]), ...given];
      running.set(name, spawn(join(bin, "postgres"), args, { ...options, stdio: "ignore" }));
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

async function ownAll(folder: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await ended(spawn("chown", ["-R", `${uid}:${gid}`, folder], { stdio: "inherit" }));
}

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {}); // the end of input decides
await run(findBinaries()!);
