import { count, type Outcome, type Test, type Within } from "./outcome.ts";
import { longRows } from "./stalls/longRows.ts";
import { NoAnswerError, type Request } from "./stalls/requests.ts";
import { serve } from "./stalls/served.ts";
import { allStoredData } from "./stalls/storedData.ts";
import type { StoredData } from "./stalls/storing.ts";

/** How often a request is sent at most that keeps the neighbour waiting, as the machine may have stood still. */
const TIMES = 3;
/** How many callers then send it at once. */
const CROWD = 60;
const MAX_WAIT_MS = 250;
const TIMEOUT_MS = 60_000;
/** Answers of any size are read to their end, and leave nothing. */
const MAX_KEPT_MB = 128;

/** The codes of a request that asks for nothing that is stored. */
const MISTAKE = /"(?:BAD_INPUT|\w+_NOT_FOUND|NOT_FOUND|GRAPHQL_\w+)"/;

interface Found {
  requests: number;
  longestWaitMs: number;
  /** The request of the longest wait. */
  longestFor: string;
  faults: string[];
}

/**
 * Stores much in the ways that a caller can, and asks for it, while a neighbour asks for a prompt every 25 ms. A request that
 * keeps the neighbour waiting each time, fails by an error of the server or leaves memory behind is a fault.
 */
export async function lookForStoredStalls(within: Within, wanted: Wanted): Promise<Found> {
  const found: Found = { requests: 0, longestWaitMs: 0, longestFor: "", faults: [] };
  for (const data of wanted.of ?? allStoredData)
    await within((databaseUrl) => ask({ databaseUrl, data, ...wanted }, found));
  return found;
}

interface Wanted {
  /** What is stored; everything when absent. */
  of?: StoredData[];
  /** How much of it, as a part of the full size. */
  scale: number;
  /** Infinite on a machine that does other things, too. */
  maxWaitMs: number;
}

interface Asked extends Wanted {
  databaseUrl: string;
  data: StoredData;
}

async function ask({ databaseUrl, data, scale, maxWaitMs }: Asked, found: Found): Promise<void> {
  const served = await serve({ databaseUrl }, TIMEOUT_MS);
  const askFor = async (name: string, given: Request | Request[]) => {
    const requests = Array.isArray(given) ? given : Array.from({ length: TIMES }, () => given);
    const waits: number[] = [];
    for (const request of requests) {
      const { waitMs, status, text } = await served.cost(request);
      found.requests += 1;
      waits.push(waitMs);
      if (MISTAKE.test(text)) throw new Error(`${name}: ${text}`);
      if (status === 500 || text.includes('"INTERNAL"')) found.faults.push(`${name}: ${text}`);
      if (waitMs <= maxWaitMs) break;
    }
    judge(name, waits, maxWaitMs, found);
    if (Array.isArray(given) || !Number.isFinite(maxWaitMs)) return;
    const besides: number[] = [];
    while (besides.length < TIMES && besides.every((waitMs) => waitMs > maxWaitMs))
      besides.push(await served.waitBesideMs(Array.from({ length: CROWD }, () => given)));
    found.requests += besides.length * CROWD;
    judge(`${name}, ${CROWD} times`, besides, maxWaitMs, found);
  };
  try {
    const requests = await data.store(async (request) => {
      const { status, text } = await served.send(request);
      if (status >= 300 || text.includes('"errors":[')) throw new Error(`${request.path}: ${status} ${text}`);
      return text;
    }, scale);
    const heldMb = await served.heldMb();
    for (const [name, request] of Object.entries(requests)) await askFor(`${data.name}, ${name}`, request);
    const leftMb = (await served.heldMb()) - heldMb;
    if (leftMb > MAX_KEPT_MB)
      found.faults.push(`${data.name}: ${Math.round(leftMb)} MB more are held afterwards`);
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    found.faults.push(`${data.name}: ${error.message}`);
  } finally {
    await served.stop();
  }
}

function judge(name: string, waits: number[], maxWaitMs: number, found: Found): void {
  const shortestMs = Math.min(...waits);
  if (shortestMs > maxWaitMs)
    found.faults.push(`${name}: the neighbour waits ${waits.map(Math.round).join(", ")} ms`);
  if (shortestMs < found.longestWaitMs) return;
  found.longestWaitMs = shortestMs;
  found.longestFor = name;
}

/** The requests about stored data at length, on both databases; the cases are the percentage of the full size. */
export function storedStalls({ withFile, withPostgresql }: Record<"withFile" | "withPostgresql", Within>) {
  const outcome = ({ requests, longestWaitMs, longestFor, faults }: Found): Outcome => ({
    result: `${count(requests)} requests; the neighbour waited ${Math.round(longestWaitMs)} ms at most (${longestFor}); ${faults.join("; ") || "no faults"}`,
    isAsWanted: faults.length === 0,
  });
  const test = (within: Within): Test => ({
    cases: 100,
    run: async (percent) =>
      outcome(await lookForStoredStalls(within, { scale: percent / 100, maxWaitMs: MAX_WAIT_MS })),
    control: async () => {
      const { faults } = await lookForStoredStalls(within, { of: [longRows], scale: 0.02, maxWaitMs: 0 });
      return { result: `${faults.length} found when no wait is allowed`, isAsWanted: faults.length > 0 };
    },
  });
  return { "stored-stalls": test(withFile), "stored-stalls-on-postgresql": test(withPostgresql) };
}
