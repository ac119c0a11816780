import { execFileSync } from "node:child_process";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { type Case, cases } from "./cases.ts";
import { claims } from "./claims.ts";
import { prepare } from "./prepare.ts";
import { headers, load, type Server, start } from "./processes.ts";
import { type Figures, keep, missed, type Run, tableOf } from "./results.ts";

// npm run bench [-- FILTER]: measures each case against its baselines, round by round, then what else is claimed. Without a
// filter the run is added to bench/results.json, and bench/results.md is made from it. Ends with 1 when anything is missed.
const ROUNDS = 5;
const SECONDS = 4;
const WARM_UP_SECONDS = 6; // what runs for days is compiled to its end
const CONNECTIONS = 64;

async function measure(server: Server, wanted: Case, prepared: string): Promise<Figures> {
  const database = `${prepared}-${server}`;
  await copyFile(prepared, database);
  const running = await start(server, database);
  const isBase = server === "bare" || (server === "plain" && wanted.path !== "/graphql");
  const body = isBase && wanted.basePath ? wanted.baseBody : wanted.body;
  const request = {
    url: running.url + (isBase ? (wanted.basePath ?? wanted.path) : wanted.path),
    method: body === undefined ? ("GET" as const) : wanted.method,
    headers,
    body,
    connections: wanted.connections ?? CONNECTIONS,
  };
  try {
    await load({ ...request, seconds: WARM_UP_SECONDS });
    const { failed, ...figures } = await load({ ...request, seconds: SECONDS });
    if (failed > 0) throw new Error(`${server} failed ${failed} requests of "${wanted.name}".`);
    return { ...figures, peakMb: await running.peakMb() };
  } finally {
    await running.stop();
    for (const end of ["", "-wal", "-shm"]) await rm(`${database}${end}`, { force: true });
  }
}

async function runCase(wanted: Case, prepared: string): Promise<Run["cases"][number]> {
  const servers: Server[] = [...wanted.against, "gabbro"];
  const rounds: Partial<Record<Server, Figures[]>> = Object.fromEntries(
    servers.map((server) => [server, []]),
  );
  for (let round = 0; round < ROUNDS; round++)
    for (const server of servers) rounds[server]!.push(await measure(server, wanted, prepared));
  return { name: wanted.name, wanted: wanted.targets, rounds };
}

const filter = process.argv[2] ?? "";
const chosen = <One extends { name: string }>(all: One[]) => all.filter(({ name }) => name.includes(filter));
const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();
const run: Run = {
  commit: git("rev-parse", "--short", "HEAD") + (git("status", "--porcelain") ? " and changes" : ""),
  day: new Date().toISOString().slice(0, 10),
  machine: `${cpus().length} cores ${cpus()[0]?.model ?? "?"}, Node.js ${process.version}`,
  how: `median of ${ROUNDS} rounds of ${SECONDS} s after ${WARM_UP_SECONDS} s of warming up`,
  ...{ cases: [], claims: [] },
};
const folder = await mkdtemp(join(tmpdir(), "gabbro-bench-"));
try {
  const prepared = join(folder, "prepared.sqlite");
  await prepare(prepared);
  for (const wanted of chosen(cases)) run.cases.push(await runCase(wanted, prepared));
  for (const { name, wanted, measure } of chosen(claims))
    run.claims.push({ name, wanted, ...(await measure(folder)) });
} finally {
  await rm(folder, { recursive: true, force: true });
}
process.stdout.write(`${tableOf(run)}\n`);
if (!filter) await keep(run);
for (const name of missed(run)) process.stdout.write(`Missed: ${name}\n`);
process.exitCode = missed(run).length > 0 ? 1 : 0;
