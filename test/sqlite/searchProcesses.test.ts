import { readdir, readFile } from "node:fs/promises";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Compilable } from "kysely";
import { expect, test } from "vitest";
import { getWorkspaceId } from "../../src/workspaces/resolvers.ts";
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

test("a search ends when much is written while it reads, as one commit would then copy all of it to the file", async () => {
  await using server = await startServer();
  const workspace = await getWorkspaceId(server.database, "default");
  const em = server.database.fork(workspace);
  await em.execute("create table scratch (text text)");
  const search = (sql: string) => {
    const query = { compile: () => ({ sql, parameters: [] }) } as unknown as Compilable<{ id: string }>;
    return server.database.search.findIds(workspace, query);
  };
  await search("select 1 from workspaces"); // its process has started
  let isOver = false;
  const ended = expect(
    search(
      "with recursive n(x) as (select 1 union all select x + 1 from n) select name from workspaces, n where x < 0",
    ).finally(() => {
      isOver = true;
    }),
  ).rejects.toThrow("much was written meanwhile");
  // Not by a request: on a busy machine a search takes its five seconds before enough of them are stored.
  for (let n = 0; n < 40 && !isOver; n++) {
    await em.execute("insert into scratch values (hex(randomblob(4000000)))");
    await nextTurn();
  }
  await ended;
});
