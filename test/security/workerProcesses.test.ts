import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test, vi } from "vitest";
import { createWorkerProcesses } from "../../src/limits/workerProcesses.ts";

const ANSWERS_ITS_ENVIRONMENT =
  'process.on("message", () => process.send(process.env)); process.send("ready");';

test("a process that works for callers sees nothing of the environment of the service", async () => {
  const folder = await mkdtemp(join(tmpdir(), "gabbro-"));
  const file = join(folder, "environment.mjs");
  await writeFile(file, ANSWERS_ITS_ENVIRONMENT);
  vi.stubEnv("GABBRO_TOKEN", "a-token-that-nobody-may-see");
  const processes = createWorkerProcesses<object, Record<string, string>>({
    file: pathToFileURL(file),
    heapMb: 32,
    busy: "Busy.",
  });
  try {
    const seen = (await processes.run("ours", {}, 10_000))!;
    const shared = Object.keys(seen).filter((name) => name in process.env && !name.startsWith("__CF"));
    expect(shared).toEqual([]); // but for what macOS gives every process
  } finally {
    processes.close();
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  }
});
