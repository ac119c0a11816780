import { Agent, request } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { workerData } from "node:worker_threads";
import { AT, type Place } from "./neighbour.ts";

const INTERVAL_MS = 25;

const { url, token, path, seen } = workerData as Place;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });

const ask = (): Promise<number> =>
  new Promise((resolve) => {
    const asked = request(
      `${url}${path}`,
      { agent, headers: { authorization: `Bearer ${token}` } },
      (answer) => {
        answer.resume().once("close", () => resolve(answer.statusCode!));
      },
    );
    asked.once("error", () => resolve(0)).end();
  });

for (;;) {
  const begun = performance.timeOrigin + performance.now();
  seen[AT.askedAt] = begun;
  const status = await ask();
  const tookMs = performance.timeOrigin + performance.now() - begun;
  seen[AT.askedAt] = 0;
  seen[AT.longestMs] = Math.max(seen[AT.longestMs]!, tookMs);
  seen[status === 200 ? AT.answered : AT.refused]! += 1;
  await wait(Math.max(0, INTERVAL_MS - tookMs));
}
