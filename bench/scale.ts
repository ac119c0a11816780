import { writeFile } from "node:fs/promises";
import { cpus, totalmem } from "node:os";
import { parseArgs } from "node:util";
import { execute, urlOf } from "../test/support/postgresSetup.ts";
import { startPostgresql } from "./postgresql.ts";
import { type Filled, fill, makeToken } from "./scale/fill.ts";
import { startGateway } from "./scale/gateway.ts";
import { loads, throughput } from "./scale/gateways.ts";
import { sizesOf } from "./scale/generator.ts";
import { probes, type Target } from "./scale/probes.ts";
import { gatewayTable, latencyTable, sizeTable, statementTable } from "./scale/report.ts";

// npm run bench:scale -- [--logs 10000000] [--small 10000] [--workspaces 1000] [--rounds 3] [--url URL] [--keep]
// Fills a small and a large database on one PostgreSQL server, asks both in turn through a gateway each, then measures
// one and three gateways, and writes bench/scale-results.md. Without a URL it starts the server that npm brought along.
const { values: given } = parseArgs({
  options: {
    logs: { type: "string", default: "10000000" },
    small: { type: "string", default: "10000" },
    workspaces: { type: "string", default: "1000" },
    rounds: { type: "string", default: "3" },
    url: { type: "string" },
    keep: { type: "boolean", default: false },
  },
});
const [logs, few, workspaces, rounds] = [given.logs, given.small, given.workspaces, given.rounds].map(
  Number,
) as [number, number, number, number];

/** Beyond what PostgreSQL has by itself; fsync stays on. */
const SETTINGS = {
  ...{
    wal_level: "minimal",
    max_wal_senders: "0",
    max_wal_size: "8GB",
    checkpoint_timeout: "15min",
    autovacuum_naptime: "1min",
  },
  ...{ shared_buffers: "2GB", effective_cache_size: "12GB", work_mem: "16MB", log_min_messages: "fatal" },
};

const say = (words: string) => process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${words}\n`);

async function makeDatabase(server: string, name: string, sizes: number[]) {
  const url = urlOf(server, name);
  const there = await execute(server, `select 1 from pg_database where datname = '${name}'`);
  if (there.length > 0) throw new Error(`There is a database ${name} already; drop it first.`);
  await execute(server, `create database ${name} template template0 encoding 'UTF8'`);
  const began = performance.now();
  const filled = await fill(url, sizes, (words) => say(`${name}: ${words}`));
  say(`${name}: filled in ${Math.round((performance.now() - began) / 1_000)} s`);
  return { url, filled, sizes };
}

type Made = { url: string; filled: Filled; sizes: number[] };

async function targetOf(
  name: string,
  { url, filled, sizes }: Made,
  at: number,
): Promise<Omit<Target, "url">> {
  const token = await makeToken(url, filled.workspaces[at]!);
  const all = sizes.reduce((sum, size) => sum + size, 0);
  return { name, token, from: filled.from, to: filled.to, own: sizes[at]!, all };
}

async function measureAll(small: Made, large: Made): Promise<string[]> {
  const middle = Math.floor(workspaces / 2);
  const gateways = [await startGateway(small.url), await startGateway(large.url)] as const;
  const targets = [
    { ...(await targetOf("small", small, middle)), url: gateways[0].url },
    { ...(await targetOf("median", large, middle)), url: gateways[1].url },
    { ...(await targetOf("biggest", large, 0)), url: gateways[1].url },
  ];
  const parts = [await latencyTable(probes, targets, rounds, say)];
  for (const gateway of gateways) await gateway.stop();
  parts.push(await sizeTable(large.url, logs), await statementTable(large.url, targets[1]!));
  const found = [];
  for (const load of loads) {
    const counts: [1, 3] = [1, 3];
    const rows = counts.map(() => [] as Awaited<ReturnType<typeof throughput>>[]);
    for (let round = 0; round < rounds; round++)
      for (const [at, count] of counts.entries())
        rows[at]!.push(await throughput(large.url, targets[1]!.token, load.parts, count));
    found.push({ name: load.name, counts, rows });
  }
  parts.push(gatewayTable(found));
  return parts;
}

const server = given.url ? null : await startPostgresql(SETTINGS);
const url = given.url ?? server!.url;
const names = ["gabbro_scale_small", "gabbro_scale"];
try {
  const sizes = sizesOf(logs, workspaces);
  const probe = sizes[Math.floor(workspaces / 2)]!;
  const small = await makeDatabase(url, names[0]!, sizesOf(few, workspaces, probe));
  const large = await makeDatabase(url, names[1]!, sizes);
  const parts = await measureAll(small, large);
  const machine = `${cpus().length} cores ${cpus()[0]?.model ?? "?"}, ${Math.round(totalmem() / 2 ** 30)} GB, Node.js ${process.version}`;
  const [{ version }] = await execute(url, "select version()");
  const settings = given.url
    ? "its own settings"
    : Object.entries(SETTINGS)
        .map(([name, value]) => `${name}=${value}`)
        .join(" ");
  const head = `# Measured at scale\n\n${machine}; ${String(version).split(" on ")[0]}, ${settings}. ${logs.toLocaleString("en")} logs in ${workspaces} workspaces against ${few.toLocaleString("en")} in as many. Only the ratios are claims.\n`;
  await writeFile(new URL("./scale-results.md", import.meta.url), [head, ...parts].join("\n"));
} finally {
  if (!given.keep && given.url)
    for (const name of names) await execute(url, `drop database if exists ${name} with (force)`);
  await server?.stop();
}
