import { get } from "node:http";
import { join } from "node:path";
import { openDatabase } from "../src/database/open.ts";
import { createDataset } from "../src/datasets/authoring.resolvers.ts";
import { putDatasetItems } from "../src/datasets/bulk.resolvers.ts";
import { entities } from "../src/entities.ts";
import { commandLineContext, getWorkspaceId } from "../src/workspaces/resolvers.ts";
import type { Claim } from "./claim.ts";
import { prepare } from "./prepare.ts";
import { headers, joinLoad, load, start } from "./processes.ts";

const ROWS = 1_000_000;
const AT_ONCE = 2_000;
const COLUMNS = ["question", "answer", "facts", "source", "note"];

export const largeDataset: Claim = {
  name: "a dataset of 1,000,000 rows by REST, beside 100 descriptions a second",
  wanted: "first byte in 50 ms, peak memory under 250 MB, p99 of the descriptions under 50 ms",
  measure: async (folder) => {
    const file = join(folder, "million.sqlite");
    await prepare(file);
    await fill(file);
    joinLoad();
    const running = await start("gabbro", file);
    const describe = {
      ...{ url: `${running.url}/prompts/greeting/describe`, method: "GET" as const, headers },
      ...{ connections: 8, rate: 100 },
    };
    await load({ ...describe, seconds: 2 });
    const reading = read(`${running.url}/datasets/million`);
    const { p99Ms } = await load({ ...describe, seconds: 6 });
    const { firstByteMs, megabytes, seconds } = await reading;
    const peakMb = await running.peakMb();
    await running.stop();
    const answer = `first byte after ${firstByteMs} ms, ${megabytes} MB in ${seconds} s`;
    const measured = `${answer}, peak memory ${peakMb} MB, p99 of the descriptions ${p99Ms} ms`;
    return { measured, isMet: firstByteMs <= 50 && (peakMb ?? 0) < 250 && p99Ms < 50 };
  },
};

/** Adds a dataset "million" of so many rows. */
export async function fill(file: string): Promise<void> {
  const database = await openDatabase(`sqlite:${file}`, entities);
  const context = commandLineContext(database, await getWorkspaceId(database, "default"));
  const columns = COLUMNS.map((name) => ({ name, type: "text" as const }));
  await createDataset(context, { slug: "million", columns });
  for (let from = 0; from < ROWS; from += AT_ONCE)
    await putDatasetItems(context, {
      slug: "million",
      items: Array.from({ length: AT_ONCE }, (_, at) => rowOf(from + at)),
    });
  await database.close();
}

/** About half a kilobyte of JSON. */
function rowOf(n: number) {
  const values = Object.fromEntries(
    COLUMNS.map((name) => [
      name,
      `The ${name} of row ${n} is a sentence that is about as long as sentences are.`,
    ]),
  );
  return { name: null, key: `k${n}`, values, idealOutput: `The ideal output of row ${n}.`, metadata: null };
}

function read(url: string) {
  const began = performance.now();
  return new Promise<{ firstByteMs: number; megabytes: number; seconds: number }>((resolve, reject) => {
    get(url, { headers }, (response) => {
      let firstByteMs: number | undefined;
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        firstByteMs ??= Math.round(performance.now() - began);
        bytes += chunk.length;
      });
      response.on("error", reject);
      response.on("end", () => {
        const seconds = Math.round((performance.now() - began) / 100) / 10;
        resolve({ firstByteMs: firstByteMs!, megabytes: Math.round(bytes / 1e6), seconds });
      });
    }).on("error", reject);
  });
}
