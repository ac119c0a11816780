import { failedOf } from "./figures.ts";
import { type How, prepareDatabase, startGateway } from "./gateway.ts";
import { runOrder } from "./openLoop.ts";

export interface SlowDiskResult {
  answeredPerSecond: number;
  /** How many writes shared a commit. */
  writesPerCommit: number;
  /** Requests that were not answered as they should be. */
  failed: number;
}

const CALLERS = 64;
const DEADLINE_MS = 30_000;
const METRICS_TOKEN = "a-token-for-metrics-only-0123456789";

/** Has callers who wait for each answer write and read as fast as they can, while every commit takes so many ms. */
export async function serveOnSlowDisk(
  how: How,
  { seconds, commitMs }: { seconds: number; commitMs: number },
): Promise<SlowDiskResult> {
  await prepareDatabase(how.databaseUrl, "with sample");
  const env = { METRICS_TOKEN, COMMIT_MS: String(commitMs), ...how.env };
  const gateway = await startGateway({ preload: "slowDisk", ...how, env });
  try {
    const order = { url: gateway.url, mix: "served", deadlineMs: DEADLINE_MS } as const;
    const figures = await runOrder({ ...order, connections: CALLERS, seconds });
    const answer = await fetch(`${gateway.url}/metrics`, {
      headers: { authorization: `Bearer ${METRICS_TOKEN}` },
    });
    const metrics = await answer.text();
    const metric = (name: string) =>
      Number(new RegExp(`^gabbro_write_batch_size_${name} (\\d+)$`, "m").exec(metrics)![1]);
    return {
      answeredPerSecond: figures.good / seconds,
      writesPerCommit: metric("sum") / metric("count"),
      failed: failedOf(figures) + figures.refused,
    };
  } finally {
    await gateway.kill();
  }
}
