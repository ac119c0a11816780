import { readdirSync, statSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { subscribe } from "../test/support/events.ts";
import { type Figures, failedOf } from "./figures.ts";
import { type Gateway, type How, prepareDatabase, startGateway, TOKEN } from "./gateway.ts";
import { runOrder } from "./openLoop.ts";
import { residentKb } from "./overload.ts";

interface Sample {
  minute: number;
  rssMb: number;
  /** After garbage was collected. */
  heapMb: number;
  fds: number;
  walMb: number;
}

/** In MB in ten minutes: the line through the samples, and twice its standard error. */
export interface Slope {
  value: number;
  doubt: number;
}

export interface SoakResult {
  load: Figures;
  rss: Slope;
  heap: Slope;
  fds: { first: number; max: number };
  maxWalMb: number;
  subscriptions: number;
  broken: string[];
}

const MEASURED_S = 10;
/** Enough to send on while the heap is collected for a sample, which stops the gateway for a good tenth of a second. */
const CONNECTIONS = 1_000;
/** Times as much, once before all: when this machine was busy elsewhere for a moment, as much is sent at once later. */
const BURST = 10;
const SAMPLES_A_MINUTE = 4;
const SUBSCRIBERS = 5;
const MAX_SUBSCRIPTION_MS = 5_000;
const WANTED_SLOPE_MB = 1;
const WANTED_WAL_MB = 64;
const WANTED_FDS = 50; // that subscriptions and checks come and go with

/** Asks half of what it can do of a gateway, of every kind and also what it must refuse, and sees whether anything grows. */
export async function soak(
  how: How & { databaseUrl: `sqlite:${string}` },
  minutes: number,
): Promise<SoakResult> {
  await prepareDatabase(how.databaseUrl, "with sample");
  const preloads = ["tellMemory", ...(how.preload ? [how.preload] : [])];
  const imports = preloads.map((name) => `--import=${new URL(`preloads/${name}.ts`, import.meta.url).href}`);
  const env = { NODE_OPTIONS: `--no-warnings ${imports.join(" ")}` };
  const gateway = await startGateway({ databaseUrl: how.databaseUrl, env });
  try {
    const order = { url: gateway.url, mix: "mixed", deadlineMs: 5_000 } as const;
    const capacity = await runOrder({ ...order, connections: 64, seconds: MEASURED_S });
    const perSecond = capacity.good / MEASURED_S / 2;
    await runOrder({ ...order, perSecond: perSecond * BURST, connections: CONNECTIONS, seconds: MEASURED_S });
    const seconds = Math.round(minutes * 60);
    const loading = runOrder({ ...order, perSecond, connections: CONNECTIONS, seconds });
    const subscribing = comeAndGo(gateway, seconds);
    const samples = await sample(gateway, how.databaseUrl.slice("sqlite:".length), seconds);
    const [load, subscriptions] = [await loading, await subscribing];
    return judge(samples, load, subscriptions);
  } finally {
    await gateway.stop();
  }
}

async function sample(gateway: Gateway, file: string, seconds: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  const begun = performance.now();
  while (performance.now() - begun < seconds * 1_000) {
    await wait(60_000 / SAMPLES_A_MINUTE);
    samples.push({
      minute: (performance.now() - begun) / 60_000,
      rssMb: residentKb(gateway) / 1_024,
      heapMb: await heapMb(gateway),
      fds: readdirSync(`/proc/${gateway.child.pid}/fd`).length,
      walMb: (statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) / 1_048_576,
    });
    const { minute, rssMb, heapMb: heap, fds, walMb } = samples.at(-1)!;
    const figures = [minute, rssMb, heap, fds, walMb].map((figure) => figure.toFixed(1)).join(" ");
    process.stderr.write(`minute, RSS, heap, descriptors, WAL: ${figures}\n`);
  }
  return samples;
}

async function heapMb(gateway: Gateway): Promise<number> {
  const figures = () => [...gateway.said().matchAll(/^heap (\d+)$/gm)];
  const before = figures().length;
  gateway.child.kill("SIGUSR2");
  while (figures().length === before) await wait(20);
  return Number(figures().at(-1)![1]) / 1_048_576;
}

/** Subscriptions that last for some seconds each; gives how many there were. */
async function comeAndGo({ url }: Gateway, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1_000;
  let count = 0;
  const subscriber = async () => {
    while (performance.now() < end) {
      await using events = await subscribe({ url, token: TOKEN }, "subscription { logAdded { id output } }");
      await events.next();
      await wait(Math.random() * MAX_SUBSCRIPTION_MS);
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: SUBSCRIBERS }, subscriber));
  return count;
}

function judge(samples: Sample[], load: Figures, subscriptions: number): SoakResult {
  const settled = samples.slice(Math.floor(samples.length / 3));
  const rss = slopeOf(settled, ({ rssMb }) => rssMb);
  const heap = slopeOf(settled, ({ heapMb }) => heapMb);
  const descriptors = settled.map(({ fds }) => fds);
  const fds = { first: descriptors[0]!, max: Math.max(...descriptors) };
  const maxWalMb = Math.max(...samples.map(({ walMb }) => walMb));
  const grows = ({ value, doubt }: Slope) => value - doubt > WANTED_SLOPE_MB;
  const broken = [
    ...(grows(rss) ? ["its memory grows"] : []),
    ...(grows(heap) ? ["its heap grows"] : []),
    ...(fds.max > fds.first + WANTED_FDS ? ["its file descriptors grow"] : []),
    ...(maxWalMb > WANTED_WAL_MB ? ["its WAL grows"] : []),
    ...(failedOf(load) > 0 ? ["it failed"] : []),
  ];
  return { load, rss, heap, fds, maxWalMb, subscriptions, broken };
}

function slopeOf(samples: Sample[], of: (sample: Sample) => number): Slope {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [samples.map(({ minute }) => minute), samples.map(of)];
  const [mx, my] = [mean(x), mean(y)];
  const spread = x.reduce((sum, value) => sum + (value - mx) ** 2, 0);
  const slope = x.reduce((sum, value, n) => sum + (value - mx) * (y[n]! - my), 0) / spread;
  const rest = x.reduce((sum, value, n) => sum + (y[n]! - my - slope * (value - mx)) ** 2, 0);
  const error = Math.sqrt(rest / Math.max(1, x.length - 2) / spread);
  return { value: slope * 10, doubt: 2 * error * 10 };
}
