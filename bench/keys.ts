import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { cases } from "./cases.ts";
import type { Claim } from "./claim.ts";
import { headers, load, median, start } from "./processes.ts";

const ROUNDS = 5;
/** What autocannon puts another text in place of for each request. */
const KEY = { "idempotency-key": "[<id>]" };

export const withKeys: Claim = {
  name: "REST POST /monitor/log with an Idempotency-Key for each, on SQLite",
  wanted: "at least 400 a second",
  measure: async (folder) => {
    const { path, method, body } = cases.find(({ name }) => name.endsWith("tokens given"))!;
    const found: Record<"without" | "with", number[]> = { without: [], with: [] };
    for (let round = 0; round < ROUNDS; round++) {
      for (const [how, more] of [["without", {}] as const, ["with", KEY] as const]) {
        const file = join(folder, "keys.sqlite");
        await copyFile(join(folder, "prepared.sqlite"), file);
        const running = await start("gabbro", file);
        const request = {
          ...{ url: running.url + path, method, body, connections: 64 },
          headers: { ...headers, ...more },
        };
        await load({ ...request, seconds: 3 });
        const { perSecond, failed } = await load({ ...request, seconds: 4 });
        if (failed > 0) throw new Error(`${failed} requests ${how} keys failed.`);
        found[how].push(perSecond);
        await running.stop();
        for (const end of ["", "-wal", "-shm"]) await rm(`${file}${end}`, { force: true });
      }
    }
    const [without, withOne] = [median(found.without), median(found.with)];
    const measured = `${Math.round(withOne)} a second, ${Math.round(without)} without`;
    return { measured, isMet: withOne >= 400 };
  },
};
