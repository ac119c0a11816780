import { existsSync } from "node:fs";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { execute, urlOf } from "../test/support/postgresSetup.ts";
import { type Case, cases } from "./cases.ts";
import type { Claim, Finding } from "./claim.ts";
import { addLogs, multiplyLogs } from "./logs.ts";
import { multiplyOnPostgresql } from "./multiplyOnPostgresql.ts";
import { startPostgresql } from "./postgresql.ts";
import { prepare } from "./prepare.ts";
import { headers, type Loaded, load, median, type Running, start } from "./processes.ts";
import { rateOfSpans } from "./spans.ts";

const FEW = 10_000;
// BENCH_TIMES=1000 BENCH_KEPT=FOLDER npm run bench -- "logs against" makes ten million, which takes ten to twenty minutes and
// 20 GB, and leaves those on SQLite in that folder for another run.
const TIMES = Number(process.env.BENCH_TIMES ?? 100);
const KEPT = process.env.BENCH_KEPT;
const ROUNDS = 5;
const NAMES = ["REST POST /monitor/log, 1 kB, tokens given", "REST GET /prompts/{slug}/describe"];

const wanted =
  "log, describe and spans of OpenTelemetry at 0.85 of the rate, p99 of the first two at most 1.5 times";
const nameOn = (database: string) =>
  `${(FEW * TIMES).toLocaleString("en")} logs against ${FEW.toLocaleString("en")}, on ${database}`;

export const grown: Claim = {
  name: nameOn("SQLite"),
  wanted,
  measure: async (folder) => {
    const files = await fill(KEPT ?? folder);
    const finding = await compare(files);
    if (!KEPT) await rm(files.many);
    return finding;
  },
};

export const grownOnPostgresql: Claim = {
  name: nameOn("PostgreSQL"),
  wanted,
  measure: async () => {
    const postgresql = await startPostgresql({ shared_buffers: "3GB", max_wal_size: "20GB" });
    try {
      return await compare(await fillOnPostgresql(postgresql.url));
    } finally {
      await postgresql.stop();
    }
  },
};

/** What a process does beside few logs, and beside many, in turns. */
async function compare(databases: { few: string; many: string }): Promise<Finding> {
  const found: string[] = [];
  let isMet = true;
  for (const wanted of cases.filter(({ name }) => NAMES.includes(name))) {
    const [few, many]: [Loaded[], Loaded[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      few.push(await measure(databases.few, wanted));
      many.push(await measure(databases.many, wanted));
    }
    const of = (loaded: Loaded[], name: keyof Loaded) => median(loaded.map((each) => each[name]));
    const rate = of(many, "perSecond") / of(few, "perSecond");
    const [fewMs, manyMs] = [of(few, "p99Ms"), of(many, "p99Ms")];
    isMet &&= rate >= 0.85 && manyMs <= 1.5 * fewMs;
    found.push(`${wanted.path}: rate ${rate.toFixed(2)}, p99 ${manyMs} against ${fewMs} ms`);
  }
  const [fewSpans, manySpans]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round++) {
    fewSpans.push(await measureSpans(databases.few));
    manySpans.push(await measureSpans(databases.many));
  }
  const rate = median(manySpans) / median(fewSpans);
  isMet &&= rate >= 0.85;
  const perSecond = [manySpans, fewSpans].map((all) => Math.round(median(all)).toLocaleString("en"));
  found.push(`/v1/traces: rate ${rate.toFixed(2)}, ${perSecond.join(" against ")} spans/s`);
  return { measured: found.join("; "), isMet };
}

const say = (words: string) => void process.stderr.write(`${words}\n`);

async function fillOnPostgresql(url: string) {
  const template = urlOf(url, "bench_template");
  await execute(url, `create database bench_template template template0 encoding 'UTF8'`);
  await prepare(template);
  await addLogs(template, FEW);
  const databases = { few: urlOf(url, "few"), many: urlOf(url, "many") };
  for (const name of ["few", "many"] as const) {
    await execute(url, `create database ${name} template bench_template`);
    await multiplyOnPostgresql(databases[name], name === "few" ? 1 : TIMES, say);
  }
  return databases;
}

async function fill(folder: string) {
  const files = { few: join(folder, "few.sqlite"), many: join(folder, "many.sqlite") };
  if (existsSync(files.many)) return files;
  await prepare(files.few);
  await addLogs(files.few, FEW);
  const template = join(folder, "template.sqlite");
  await copyFile(files.few, template);
  // Both are made in the same way, so that they differ in nothing but their number.
  await multiplyLogs(template, files.few, 1, () => {});
  await multiplyLogs(template, files.many, TIMES, say);
  return files;
}

/** With what it adds left there: it is little beside what there is, and a copy of all would push it out of memory. */
async function measure(database: string, wanted: Case): Promise<Loaded> {
  const running: Running = await start("gabbro", database);
  const request = { url: running.url + wanted.path, method: wanted.method, headers, body: wanted.body };
  await load({ ...request, connections: 16, seconds: 2 });
  const loaded = await load({ ...request, connections: 16, seconds: 4 });
  await running.stop();
  return loaded;
}

async function measureSpans(database: string): Promise<number> {
  const running = await start("gabbro", database);
  const rate = await rateOfSpans(running.url);
  await running.stop();
  return rate;
}
