import { existsSync } from "node:fs";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Case, cases } from "./cases.ts";
import type { Claim } from "./claim.ts";
import { addLogs, multiplyLogs } from "./logs.ts";
import { prepare } from "./prepare.ts";
import { headers, type Loaded, load, median, type Running, start } from "./processes.ts";

const FEW = 10_000;
// BENCH_TIMES=1000 BENCH_KEPT=FOLDER npm run bench -- "logs against" makes ten million, which takes twenty minutes and
// 20 GB, and leaves them in that folder for another run.
const TIMES = Number(process.env.BENCH_TIMES ?? 100);
const KEPT = process.env.BENCH_KEPT;
const ROUNDS = 5;
const NAMES = ["REST POST /monitor/log, 1 kB, tokens given", "REST GET /prompts/{slug}/describe"];

export const grown: Claim = {
  name: `${(FEW * TIMES).toLocaleString("en")} logs against ${FEW.toLocaleString("en")}, on SQLite`,
  wanted: "log and describe at 0.85 of the rate, p99 at most 1.5 times",
  measure: async (folder) => {
    const files = await fill(KEPT ?? folder);
    const found: string[] = [];
    let isMet = true;
    for (const wanted of cases.filter(({ name }) => NAMES.includes(name))) {
      const [few, many]: [Loaded[], Loaded[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++) {
        few.push(await measure(files.few, wanted));
        many.push(await measure(files.many, wanted));
      }
      const of = (loaded: Loaded[], name: keyof Loaded) => median(loaded.map((each) => each[name]));
      const rate = of(many, "perSecond") / of(few, "perSecond");
      const [fewMs, manyMs] = [of(few, "p99Ms"), of(many, "p99Ms")];
      isMet &&= rate >= 0.85 && manyMs <= 1.5 * fewMs;
      found.push(`${wanted.path}: rate ${rate.toFixed(2)}, p99 ${manyMs} against ${fewMs} ms`);
    }
    if (!KEPT) await rm(files.many);
    return { measured: found.join("; "), isMet };
  },
};

async function fill(folder: string) {
  const files = { few: join(folder, "few.sqlite"), many: join(folder, "many.sqlite") };
  if (existsSync(files.many)) return files;
  await prepare(files.few);
  await addLogs(files.few, FEW);
  const template = join(folder, "template.sqlite");
  await copyFile(files.few, template);
  // Both are made in the same way, so that they differ in nothing but their number.
  await multiplyLogs(template, files.few, 1, () => {});
  await multiplyLogs(template, files.many, TIMES, (words) => void process.stderr.write(`${words}\n`));
  return files;
}

/** With what it adds left there: it is little beside what there is, and a copy of all would push it out of memory. */
async function measure(file: string, wanted: Case): Promise<Loaded> {
  const running: Running = await start("gabbro", file);
  const request = { url: running.url + wanted.path, method: wanted.method, headers, body: wanted.body };
  await load({ ...request, connections: 16, seconds: 2 });
  const loaded = await load({ ...request, connections: 16, seconds: 4 });
  await running.stop();
  return loaded;
}
