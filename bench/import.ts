// Imports a large dataset in each format and exports it again, with the command line as people run it, and reports how
// fast that was and how much memory it took at most: npm run bench:import -- [megabytes] [format]
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { migrate } from "../src/database/migrate.ts";
import { openDatabase } from "../src/database/open.ts";
import { entities } from "../src/entities.ts";
import { seedDatabase } from "../src/sample/seed.ts";

const program = fileURLToPath(new URL("../bin/gabbro.js", import.meta.url));
const megabytes = Number(process.argv[2] ?? 1_000);
const formats = process.argv[3] ? [process.argv[3]] : ["csv", "jsonl", "json"];
const BYTES_IN_A_MEGABYTE = 1_000_000;
const SAMPLE_EVERY_MS = 50;
const MAX_MB = 500;

const folder = await mkdtemp(join(tmpdir(), "gabbro-bench-"));
try {
  const database = await openDatabase(`sqlite:${join(folder, "data", "gabbro.sqlite")}`, entities);
  await migrate(database);
  await seedDatabase(database, { firstToken: null, sample: "empty" });
  await database.close();
  for (const format of formats) {
    const file = join(folder, `made.${format}`);
    const rows = await makeFile(file, format);
    await measure(`import ${format}`, ["import", "dataset", file, "--slug", format], { rows, file });
    await rm(file);
    const exported = join(folder, `exported.${format}`);
    await measure(`export ${format}`, ["export", "dataset", format, "--output", exported], {
      rows,
      file: exported,
    });
    await rm(exported);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

interface Row {
  key: string;
  values: Record<string, unknown>;
  idealOutput: string;
}

function rowOf(n: number): Row {
  const question = `What is "thing" number ${n}, and why, does it matter?`;
  const answer = `Because of reason ${n}\nand another 😀 line that is somewhat longer than the first`;
  const facts = { population: n, tags: ["a", "b"] };
  return {
    key: `k${n}`,
    values: { question, answer, score: String(n % 100), facts },
    idealOutput: `ideal ${n}`,
  };
}

function cell(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}

function csvOf({ key, values: { question, answer, score, facts }, idealOutput }: Row): string {
  return `${cell(String(question))},${cell(String(answer))},${score},${cell(JSON.stringify(facts))},${idealOutput},${key}\n`;
}

/** Makes a file of the size that was asked for and gives the number of its rows. */
async function makeFile(path: string, format: string): Promise<number> {
  const file = createWriteStream(path);
  const toText =
    format === "csv" ? csvOf : (row: Row) => `${JSON.stringify(row)}${format === "json" ? "," : ""}\n`;
  file.write({ csv: "question,answer,score,facts:json,idealOutput,key\n", json: "[\n", jsonl: "" }[format]!);
  let rows = 0;
  while (file.bytesWritten + file.writableLength < megabytes * BYTES_IN_A_MEGABYTE) {
    let text = "";
    for (let more = 0; more < 1_000; more++) text += toText(rowOf(++rows));
    if (!file.write(text)) await once(file, "drain");
  }
  file.end(format === "json" ? `${JSON.stringify(rowOf(++rows))}\n]\n` : "");
  await once(file, "finish");
  return rows;
}

async function measure(name: string, args: string[], { rows, file }: { rows: number; file: string }) {
  const began = performance.now();
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const ended = once(child, "exit");
  let peakKb = 0;
  while (child.exitCode === null && child.signalCode === null) {
    const status = await readFile(`/proc/${child.pid}/status`, "utf8").catch(() => "");
    peakKb = Math.max(peakKb, Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? 0));
    await wait(SAMPLE_EVERY_MS);
  }
  const [code] = await ended;
  const seconds = (performance.now() - began) / 1_000;
  const size = (await stat(file)).size / BYTES_IN_A_MEGABYTE;
  const peak = (peakKb * 1_024) / BYTES_IN_A_MEGABYTE;
  const figures = [
    `${size.toFixed(0)} MB`,
    `${rows.toLocaleString("en")} rows`,
    `${seconds.toFixed(1)} s`,
    `${Math.round(rows / seconds).toLocaleString("en")} rows/s`,
    `${(size / seconds).toFixed(1)} MB/s`,
    `at most ${peak.toFixed(0)} MB of memory`,
  ];
  console.log(`${name}: ${figures.join(", ")}${peak > MAX_MB ? ` (more than ${MAX_MB}!)` : ""}`);
  if (code !== 0) throw new Error(`gabbro ended with ${code}.`);
}
