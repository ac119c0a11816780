import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import type { Figures, Quiet } from "./figures.ts";
import { type Gateway, type How, headers, prepareDatabase, startGateway } from "./gateway.ts";
import { type Order, runOrder } from "./openLoop.ts";

export interface OverloadResult {
  /** The most requests a second that the gateway answers when it has one for each of 64 or of 190 connections all the time. */
  capacity: number;
  /** The same after the overload: what else the machine does changes it by half within a minute. */
  capacityAfter: number;
  /** Answered in time under five times the first, as a share of the mean of both. */
  goodput: number;
  /** The same by those seconds alone in which the machine did nothing else; NaN without any. */
  quietGoodput: number;
  overload: Figures;
  /** Of half the capacity, before. */
  normalP99Ms: number;
  /** Seconds after which it is the same again for half the capacity. */
  recoveredS: number;
  /** Of memory for a connection that does nothing, and what 2,000 of them do to others. */
  idleConnectionKb: number;
  withIdleP99Ms: number;
  withoutIdleP99Ms: number;
  hasCrashed: boolean;
}

const OVERLOAD = 5;
const DEADLINE_MS = 1_000;
const WARMING_S = 5;
const MEASURED_S = 10;
const NEWCOMERS_PER_SECOND = 20;
const IDLE_CONNECTIONS = 2_000;
/** More than may wait at the gateway, so that it must refuse some. */
const CONNECTIONS = 1_500;
/** What is not worse than that is the same: a busy machine makes more of a difference. */
const SAME = { factor: 2, plusMs: 50 };
const isSame = (ms: number, normalMs: number) => ms < normalMs * SAME.factor + SAME.plusMs;

/** Callers that are answered all the time: more share a commit, until so many wait that the next would be refused. */
const FEW_CALLERS = 64;
const MANY_CALLERS = 190;
/** The load would have a machine of its own: what it takes of this one, it should not take from the gateway. */
const load = ["nice", "-n", "19"];

/** Measures what the gateway can do with a heap of 512 MB, asks five times as much of it for a while, and looks after it. */
export async function overload(how: How, { seconds }: { seconds: number }): Promise<OverloadResult> {
  await prepareDatabase(how.databaseUrl, "with sample");
  const env = { NODE_OPTIONS: "--max-old-space-size=512", ...how.env };
  const gateway = await startGateway({ ...how, env });
  try {
    const run = (order: Pick<Order, "seconds" | "connections" | "perSecond" | "newcomersPerSecond">) =>
      runOrder({ url: gateway.url, mix: "served", deadlineMs: DEADLINE_MS, ...order }, load);
    const measure = async () => {
      const few = await run({ seconds: MEASURED_S, connections: FEW_CALLERS });
      const many = await run({ seconds: MEASURED_S, connections: MANY_CALLERS });
      return few.good > many.good ? few : many;
    };
    await run({ seconds: WARMING_S, connections: FEW_CALLERS });
    const before = await measure();
    const capacity = before.good / MEASURED_S;
    const half = { perSecond: capacity / 2, connections: 200 };
    const measureHalf = () => run({ ...half, seconds: MEASURED_S });
    const normalP99Ms = (await measureHalf()).goodMs.p99;
    const figures = await run({
      ...{ perSecond: capacity * OVERLOAD, connections: CONNECTIONS, seconds },
      newcomersPerSecond: NEWCOMERS_PER_SECOND,
    });
    const recovering = await measureHalf();
    const after = await measure();
    const capacityAfter = after.good / MEASURED_S;
    const withoutIdle = await measureHalf();
    const idle = await withIdleConnections(gateway, measureHalf);
    return {
      capacity,
      capacityAfter,
      goodput: figures.good / seconds / ((capacity + capacityAfter) / 2),
      quietGoodput: quietGoodput(figures.quiet, before.quiet, after.quiet),
      overload: figures,
      normalP99Ms,
      recoveredS: recovering.p99MsBySecond.findLastIndex((ms) => !isSame(ms, normalP99Ms)) + 1,
      idleConnectionKb: idle.connectionKb,
      withIdleP99Ms: idle.figures.goodMs.p99,
      withoutIdleP99Ms: withoutIdle.goodMs.p99,
      hasCrashed: gateway.child.exitCode !== null || gateway.child.signalCode !== null,
    };
  } finally {
    await gateway.kill();
  }
}

function quietGoodput(during: Quiet, ...alone: Quiet[]): number {
  const seconds = alone.reduce((sum, { seconds }) => sum + seconds, 0);
  const good = alone.reduce((sum, { seconds, goodPerSecond }) => sum + seconds * goodPerSecond, 0);
  return during.seconds === 0 ? Number.NaN : during.goodPerSecond / (good / seconds);
}

async function withIdleConnections(gateway: Gateway, measure: () => Promise<Figures>) {
  const before = residentKb(gateway);
  const sockets: Socket[] = [];
  const { hostname, port } = new URL(gateway.url);
  for (let n = 0; n < IDLE_CONNECTIONS; n++) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    // Used once: Node.js cuts off those that never send anything.
    socket.write(`GET /health HTTP/1.1\r\nHost: x\r\nAuthorization: ${headers.authorization}\r\n\r\n`);
    sockets.push(socket);
    await new Promise((resolve) => socket.once("data", resolve));
  }
  await wait(1_000);
  const connectionKb = (residentKb(gateway) - before) / IDLE_CONNECTIONS;
  const figures = await measure();
  for (const socket of sockets) socket.destroy();
  return { connectionKb, figures };
}

/** The memory of a process as Linux counts it; 0 elsewhere. */
export function residentKb({ child }: Gateway): number {
  if (process.platform !== "linux") return 0;
  const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0);
}

const MIN_QUIET_S = 10;
const wantedOfOverload = { goodput: 0.7, lateShare: 0.01, newcomersP50Ms: 500, recoveredS: 5 };

/** What of the promise does not hold, in words; by quiet seconds where there were enough. */
export function brokenByOverload(found: OverloadResult): string[] {
  const { overload, recoveredS, hasCrashed } = found;
  const isQuiet = overload.quiet.seconds >= MIN_QUIET_S && Number.isFinite(found.quietGoodput);
  const goodput = isQuiet ? found.quietGoodput : found.goodput;
  return [
    ...(hasCrashed ? ["it crashed"] : []),
    ...(goodput < wantedOfOverload.goodput ? ["it served too little"] : []),
    ...(overload.refused === 0 ? ["it refused nothing"] : []),
    ...(overload.wrong + overload.unanswered > 0 ? ["it failed"] : []),
    ...(overload.late > wantedOfOverload.lateShare * (overload.good + overload.late)
      ? ["it answered too late"]
      : []),
    ...(overload.newcomersMs.p50 > wantedOfOverload.newcomersP50Ms ? ["it kept newcomers waiting"] : []),
    ...(isSame(found.withIdleP99Ms, found.withoutIdleP99Ms) ? [] : ["idle connections cost too much"]),
    ...(recoveredS > wantedOfOverload.recoveredS ? ["it did not recover"] : []),
  ];
}
