import { readdir, readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { addLogs } from "../support/logs.ts";
import { startServer } from "../support/server.ts";

/** The processes that this one has started and that have not ended. */
async function ownProcesses(): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const running = await Promise.all(
    pids.map(async (pid) => {
      const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""); // it has just ended
      const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      return parent === String(process.pid) && state !== "Z" ? [pid] : [];
    }),
  );
  return running.flat();
}

test.runIf(process.platform === "linux")(
  "on Linux, the processes that search end with the service",
  async () => {
    const others = await ownProcesses();
    const server = await startServer();
    await addLogs(server, 1, () => ({}));
    const { body } = await server.graphql('{ logs(filter: { text: "word" }) { nodes { id } } }');
    expect(body.errors).toBeUndefined();
    const added = new Set(await ownProcesses()).difference(new Set(others));
    expect(added.size).toBeGreaterThan(0);
    await server[Symbol.asyncDispose]();
    const left = async () => [...added.intersection(new Set(await ownProcesses()))];
    await expect.poll(left, { timeout: 30_000 }).toEqual([]);
  },
  60_000,
);
