import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Case, cases } from "./cases.ts";
import { type Claim, claims } from "./claims.ts";
import { prepare } from "./prepare.ts";
import { headers, type Loaded, load, median, type Server, start } from "./processes.ts";

// npm run bench [-- FILTER]: measures each case against its baselines, round by round, then what else is claimed, and
// writes bench/results.md.
const ROUNDS = 3;
const SECONDS = 4;
const WARM_UP_SECONDS = 6; // what runs for days is compiled to its end
const CONNECTIONS = 64;

type Figures = Loaded & { peakMb: number | null };

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
    const figures = await load({ ...request, seconds: SECONDS });
    if (figures.failed > 0)
      throw new Error(`${server} failed ${figures.failed} requests of "${wanted.name}".`);
    return { ...figures, peakMb: await running.peakMb() };
  } finally {
    await running.stop();
    for (const end of ["", "-wal", "-shm"]) await rm(`${database}${end}`, { force: true });
  }
}

function summary(figures: Figures[]): Figures {
  const of = (name: keyof Figures) => median(figures.map((each) => each[name] ?? 0));
  const [perSecond, p50Ms, p99Ms, peakMb] = [of("perSecond"), of("p50Ms"), of("p99Ms"), of("peakMb")];
  return { perSecond, p50Ms, p99Ms, peakMb, failed: 0 };
}

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

async function runClaim({ name, wanted, measure }: Claim, folder: string): Promise<string[]> {
  return [`| ${[name, await measure(folder), wanted].join(" | ")} |`];
}

const filter = process.argv[2] ?? "";
const chosen = <One extends { name: string }>(all: One[]) => all.filter(({ name }) => name.includes(filter));
const lines: string[] = [];
function tell(more: string[]): void {
  process.stdout.write(`${more.join("\n")}\n`);
  lines.push(...more);
}

const table = (head: string[]) => [`| ${head.join(" | ")} |`, `|${head.map(() => "---|").join("")}`];
const folder = await mkdtemp(join(tmpdir(), "gabbro-bench-"));
try {
  const prepared = join(folder, "prepared.sqlite");
  await prepare(prepared);
  tell(table(["work", "server", "requests/s", "p50 ms", "p99 ms", "peak MB", "Gabbro's ratio", "wanted"]));
  for (const wanted of chosen(cases)) tell(await runCase(wanted, prepared));
  tell(["", ...table(["claim", "measured", "wanted"])]);
  for (const claim of chosen(claims)) tell(await runClaim(claim, folder));
  const machine = `${cpus().length} cores ${cpus()[0]?.model ?? "?"}, Node.js ${process.version}`;
  const how = `Each figure of the first table is the median of ${ROUNDS} rounds of ${SECONDS} s after ${WARM_UP_SECONDS} s of warming up, server and load each on a core of their own (${machine}). Only the ratios are claims.`;
  const results = fileURLToPath(new URL("results.md", import.meta.url));
  if (!filter) await writeFile(results, `# Measured\n\n${how}\n\n${lines.join("\n")}\n`);
} finally {
  await rm(folder, { recursive: true, force: true });
}
