import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { execute, urlOf } from "../test/support/postgresSetup.ts";
import { cases } from "./cases.ts";
import type { Claim } from "./claim.ts";
import { consoleSpeed } from "./console.ts";
import { grown, grownOnPostgresql } from "./grown.ts";
import { withKeys } from "./keys.ts";
import { largeDataset } from "./largeDataset.ts";
import { startPostgresql } from "./postgresql.ts";
import { prepare } from "./prepare.ts";
import { headers, load, median, type Server, start } from "./processes.ts";
import { bytesOfSpan } from "./spanBytes.ts";
import { largeTrace, spansByOtlp } from "./spans.ts";

const ROUNDS = 5;

const startUp: Claim = {
  name: "start to ready, with an existing database",
  wanted: "under 800 ms; idle memory under 320 MB",
  measure: async (folder) => {
    const file = join(folder, "prepared.sqlite");
    const [readyAfterMs, memoryMb]: [number[], number[]] = [[], []];
    for (let round = 0; round < ROUNDS; round++) {
      const running = await start("gabbro", file);
      readyAfterMs.push(running.readyAfterMs);
      await wait(3_000);
      memoryMb.push((await running.memoryMb()) ?? 0);
      await running.stop();
    }
    const span = `${Math.round(Math.min(...readyAfterMs))} to ${Math.round(Math.max(...readyAfterMs))}`;
    const [ms, megabytes] = [Math.round(median(readyAfterMs)), median(memoryMb)];
    return { measured: `${ms} ms (${span}); ${megabytes} MB`, isMet: ms < 800 && megabytes < 320 };
  },
};

const HUGE = "a word, and ".repeat(90_000); // about a megabyte
const hugeInputs: Claim = {
  name: "inputs of 1 MB that we count, one after another, beside 200 descriptions a second",
  wanted: "p99 of the descriptions at most 50 ms",
  measure: async (folder) => {
    const file = join(folder, "huge.sqlite");
    await copyFile(join(folder, "prepared.sqlite"), file);
    const running = await start("gabbro", file);
    const describe = {
      ...{ url: `${running.url}/prompts/greeting/describe`, method: "GET" as const, headers },
      ...{ connections: 8, seconds: 10, rate: 200 },
    };
    await load({ ...describe, seconds: 2 });
    const body = JSON.stringify({ slug: "greeting", input: HUGE, output: "read" });
    const end = performance.now() + 10_000;
    const sending = (async () => {
      let sent = 0;
      for (; performance.now() < end; sent++) {
        const answer = await fetch(`${running.url}/monitor/log`, { method: "POST", headers, body });
        if (!answer.ok) throw new Error(await answer.text());
        await answer.json();
      }
      return sent;
    })();
    const [{ p50Ms, p99Ms }, sent] = await Promise.all([load(describe), sending]);
    await running.stop();
    const measured = `p50 ${p50Ms} ms, p99 ${p99Ms} ms, while ${sent} inputs were counted`;
    return { measured, isMet: p99Ms <= 50 };
  },
};

const onPostgresql: Claim = {
  name: "GraphQL logPrompt on PostgreSQL",
  wanted: "at least 4 times plain on PostgreSQL",
  measure: async () => {
    const postgresql = await startPostgresql({});
    try {
      const wanted = cases.find(({ name }) => name === "GraphQL logPrompt")!;
      const found: Record<string, number[]> = { plain: [], gabbro: [] };
      for (let round = 0; round < ROUNDS; round++) {
        for (const server of ["plain", "gabbro"] as Server[]) {
          const name = `bench_${server}_${round}`;
          await execute(postgresql.url, `create database ${name} template template0 encoding 'UTF8'`);
          const url = urlOf(postgresql.url, name);
          await prepare(url);
          const running = await start(server, url);
          const request = {
            url: `${running.url}/graphql`,
            method: wanted.method,
            headers,
            body: wanted.body,
          };
          await load({ ...request, connections: 64, seconds: 2 });
          const { perSecond, failed } = await load({ ...request, connections: 64, seconds: 4 });
          if (failed > 0) throw new Error(`${server} failed ${failed} requests.`);
          found[server]!.push(perSecond);
          await running.stop();
          await execute(postgresql.url, `drop database ${name}`);
        }
      }
      const [plain, gabbro] = [median(found.plain!), median(found.gabbro!)];
      const measured = `${(gabbro / plain).toFixed(1)} times (${Math.round(gabbro)} and ${Math.round(plain)} requests/s)`;
      return { measured, isMet: gabbro >= 4 * plain };
    } finally {
      await postgresql.stop();
    }
  },
};

export const claims: Claim[] = [
  startUp,
  hugeInputs,
  withKeys,
  onPostgresql,
  largeDataset,
  spansByOtlp,
  bytesOfSpan,
  largeTrace,
  grown,
  grownOnPostgresql,
  ...consoleSpeed,
];
