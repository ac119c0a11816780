import { createHistogram, type RecordableHistogram } from "node:perf_hooks";
import { createStolenTime } from "./stolenTime.ts";

export interface Figures {
  sent: number;
  /** Answered with anything but a refusal within the deadline. */
  good: number;
  late: number;
  /** Answered 503 with Retry-After. */
  refused: number;
  /** Answered 5xx otherwise. */
  wrong: number;
  /** Without an answer. */
  unanswered: number;
  /** Not sent when they were due, as all connections waited for an answer. */
  unsent: number;
  goodMs: Quantiles;
  refusedMs: Quantiles;
  /** The 99th percentile of the good ones, second by second. */
  p99MsBySecond: number[];
  /** How long those waited for their first answer who were not connected before. */
  newcomersMs: Quantiles;
  quiet: Quiet;
}

/** The same for those seconds alone in which nobody else kept the machine busy. */
export interface Quiet {
  seconds: number;
  goodPerSecond: number;
  refusedMs: Quantiles;
}

interface Quantiles {
  p50: number;
  p99: number;
  max: number;
}

interface Second {
  goodUs: RecordableHistogram;
  refusedUs: RecordableHistogram;
  stolenMs: number;
}

const MAX_MS = 60_000;
const STOLEN_EVERY_MS = 50;
/** Linux counts it in hundredths of a second. */
const MAX_STOLEN_MS = 20;

/** Counts what comes back from requests that are sent for some seconds from now on. */
export function createCount({ deadlineMs, seconds }: { deadlineMs: number; seconds: number }) {
  const found = { sent: 0, good: 0, late: 0, refused: 0, wrong: 0, unanswered: 0, unsent: 0 };
  const newSecond = () => ({ goodUs: createHistogram(), refusedUs: createHistogram(), stolenMs: 0 });
  // What was stolen just after the last one counts too.
  const bySecond: Second[] = Array.from({ length: Math.ceil(seconds) + 1 }, newSecond);
  const newcomersUs = createHistogram();
  const begun = performance.now();
  const secondAt = (at: number) => bySecond[Math.floor((at - begun) / 1_000)];
  const stolenTime = createStolenTime();
  const watching = setInterval(() => {
    const stolenMs = stolenTime();
    const second = secondAt(performance.now());
    if (second) second.stolenMs += stolenMs;
  }, STOLEN_EVERY_MS);
  return {
    found,
    count: (head: string, sentAt: number) => {
      const ms = performance.now() - sentAt;
      const status = Number(head.slice(9, 12));
      const us = Math.max(1, Math.round(ms * 1_000));
      if (status === 503 && /\r\nretry-after: \d/i.test(head)) {
        found.refused += 1;
        secondAt(sentAt)?.refusedUs.record(us);
      } else if (status >= 500) found.wrong += 1;
      else if (ms > deadlineMs) found.late += 1;
      else {
        found.good += 1;
        secondAt(sentAt)?.goodUs.record(us);
      }
    },
    welcome: (ms: number) => newcomersUs.record(Math.max(1, Math.round(Math.min(ms, MAX_MS) * 1_000))),
    figures: (): Figures => {
      clearInterval(watching);
      return {
        ...found,
        goodMs: quantiles(bySecond.map(({ goodUs }) => goodUs)),
        refusedMs: quantiles(bySecond.map(({ refusedUs }) => refusedUs)),
        p99MsBySecond: bySecond.slice(0, -1).map(({ goodUs }) => quantiles([goodUs]).p99),
        newcomersMs: quantiles([newcomersUs]),
        quiet: quietOf(bySecond),
      };
    },
  };
}

/** A second is quiet when nothing was stolen in it, nor in the one after it, in which it may be seen or its answers come. */
function quietOf(bySecond: Second[]): Quiet {
  const isStolen = bySecond.map(({ stolenMs }) => stolenMs > MAX_STOLEN_MS);
  const quiet = bySecond.slice(0, -1).filter((_, n) => !isStolen[n] && !isStolen[n + 1]);
  const good = quiet.reduce((sum, { goodUs }) => sum + goodUs.count, 0);
  return {
    seconds: quiet.length,
    goodPerSecond: quiet.length === 0 ? 0 : good / quiet.length,
    refusedMs: quantiles(quiet.map(({ refusedUs }) => refusedUs)),
  };
}

function quantiles(parts: RecordableHistogram[]): Quantiles {
  const us = createHistogram();
  for (const part of parts) us.add(part);
  if (us.count === 0) return { p50: 0, p99: 0, max: 0 };
  const ms = (value: number) => Math.round(value / 100) / 10;
  return { p50: ms(us.percentile(50)), p99: ms(us.percentile(99)), max: ms(us.max) };
}

/** How many were not answered as they should be. */
export function failedOf({ wrong, unanswered, unsent, late }: Figures): number {
  return wrong + unanswered + unsent + late;
}
