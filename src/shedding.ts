import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";
import type { FastifyInstance } from "fastify";

declare module "fastify" {
  interface FastifyInstance {
    /** Tells of an address that this process listens at and shares, so that a second thread may listen there, too. */
    share(address: AddressInfo): void;
  }
}

/** Whether the system lets several listen at one address, and divides newcomers among them. */
export const CAN_SHARE = process.platform === "linux";

/** What the threads read and write in shared memory: a message would cost as much as a refusal. */
export const LEAVING = 0;
export const REFUSED = 1;
export const SHARED_BYTES = 8;

/** What the main thread tells the second one: where to listen, or the answer that was asked for. */
export type ToThread = { listenAt: AddressInfo[] } | { id: number; found: Found | undefined };
/** What the second thread tells the main one: that it listens, or a request that is never refused. */
export type FromThread = "listening" | Asked;

interface Asked {
  id: number;
  method: string;
  url: string;
  headers: Record<string, string | string[] | undefined>;
  remoteAddress: string;
}

export interface Found {
  status: number;
  headers: Record<string, number | string | string[] | undefined>;
  body: Uint8Array;
}

const TICK_MS = 10;
/** How many connections change threads in a tick at most: each costs as much as several refusals. */
const MOST_LEAVING = 20;
/** How many leave the main thread as long as it refuses, as it does at first, when it has all of them. */
const LEAVING_AT_FIRST = 60;
/** How many do when all is well divided, so that nobody is refused for ever who keeps a connection. */
const ALWAYS_LEAVING = 1;
const EVERYBODY = 2 ** 30;
/** The main thread refuses a crowd of a moment by itself: only after so long, with no such pause, is it an overload. */
const SUSTAINED_MS = 1_000;
const LONGEST_PAUSE_MS = 250;
/** After so long in which both threads refused nobody who could not go to the main one, the overload is over. */
export const CALM_MS = 300;

interface Situation {
  /** How many requests wait, and how many may before more are too much. */
  load: number;
  usual: number;
  isStopping: boolean;
}

interface Told {
  corsOrigins: string[];
  /** Told how many the second thread has refused. */
  tell(refusedCount: number): void;
}

/**
 * Under overload has a thread of its own refuse most of it, so that refusing takes no time from serving. It listens at the
 * same addresses, and the system divides newcomers; connections change threads by being closed after an answer, whenever
 * the main thread has too many of them, or too few to be busy all the time. It does nothing where addresses are not shared.
 */
export function createShedding(situation: () => Situation, { corsOrigins, tell }: Told) {
  const counts = new Int32Array(new SharedArrayBuffer(SHARED_BYTES));
  const division = createDivision(counts);
  const isSustained = createPatience();
  const addresses: AddressInfo[] = [];
  let app: FastifyInstance;
  let thread: Worker | undefined;
  let isListening = false;
  let ticking: NodeJS.Timeout | undefined;

  const open = () => {
    try {
      thread ??= start();
    } catch (error) {
      addresses.length = 0; // as where there may be no more threads
      return app.log.warn(error, "a thread that refuses cannot be started");
    }
    thread.postMessage({ listenAt: addresses } satisfies ToThread);
    ticking = setInterval(tick, TICK_MS).unref();
  };
  const start = () => {
    const started = startThread({ counts, corsOrigins }, app, () => {
      isListening = ticking !== undefined;
    });
    started.on("exit", () => {
      close();
      thread = undefined;
      addresses.length = 0; // what made it die may do so again
    });
    return started;
  };
  const close = () => {
    clearInterval(ticking);
    ticking = undefined;
    isListening = false;
    division.end();
    thread?.postMessage({ listenAt: [] } satisfies ToThread);
  };
  const collect = () => {
    const refusedCount = Atomics.exchange(counts, REFUSED, 0);
    if (refusedCount > 0) tell(refusedCount);
    return refusedCount;
  };
  const tick = () => {
    const found = situation();
    const calmMs = isListening ? division.adjust({ ...found, refusedCount: collect() }) : 0;
    if (found.isStopping || calmMs > CALM_MS) close();
  };

  return {
    watch: (watched: FastifyInstance): void => {
      app = watched;
      app.decorate("share", (address: AddressInfo) => void addresses.push(address));
      sendAway(app, division);
      app.addHook("preClose", async () => void addresses.splice(0));
      app.addHook("onClose", async () => void (await thread?.terminate()));
    },
    /** To be told of each refusal of the main thread. */
    refused: (): void => {
      division.refused();
      if (!ticking && isSustained() && addresses.length > 0 && !situation().isStopping) open();
    },
    /** Whether the second thread refuses now. */
    isRefusing: (): boolean => isListening,
    /** Whether the connection of a request that is refused should end, for its client to meet the other thread. */
    takeLeave: (request: IncomingMessage): boolean => !hasBody(request) && division.takeLeave(),
    /** Tells what the second thread has refused and was not told yet. */
    collect,
  };
}

/** Tells at each refusal whether there have been some for long. */
function createPatience(): () => boolean {
  let [since, last] = [0, Number.NEGATIVE_INFINITY];
  return () => {
    const now = performance.now();
    if (now - last > LONGEST_PAUSE_MS) since = now;
    last = now;
    return now - since > SUSTAINED_MS;
  };
}

/** Whether more of a request may still arrive when its head has. */
export function hasBody({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
}

function sendAway(app: FastifyInstance, { takeLeave }: ReturnType<typeof createDivision>): void {
  app.addHook("onSend", ({ raw }, reply, _, done) => {
    // While more of a request arrives, closing would cut it off, and who sends it would not see the answer.
    if (raw.complete && takeLeave()) reply.header("connection", "close");
    done();
  });
}

interface Tick {
  load: number;
  usual: number;
  /** How many the second thread has refused since the last one. */
  refusedCount: number;
}

/** Divides the connections: how many leave each of the threads until the next tick. */
export function createDivision(counts: Int32Array) {
  let fromMain = 0;
  let fromSecond = 0;
  let hasRefused = false;
  let calmSince = Number.POSITIVE_INFINITY;
  return {
    refused: (): void => {
      hasRefused = true;
    },
    takeLeave: (): boolean => fromMain > 0 && fromMain-- > 0,
    /** Tells for how long nobody was refused but who was sent to the main thread, which had refused nobody. */
    adjust: ({ load, usual, refusedCount }: Tick): number => {
      const now = performance.now();
      const isCalm = !hasRefused && refusedCount <= fromSecond;
      calmSince = isCalm ? Math.min(calmSince, now) : Number.POSITIVE_INFINITY;
      fromMain = hasRefused ? LEAVING_AT_FIRST : Math.ceil((MOST_LEAVING * (load - usual)) / (4 * usual));
      const few = usual / 2;
      const tooFew = hasRefused ? 0 : (few - load) / few;
      fromSecond = Math.max(ALWAYS_LEAVING, Math.ceil(MOST_LEAVING * tooFew));
      Atomics.store(counts, LEAVING, fromSecond);
      hasRefused = false;
      return Math.max(0, now - calmSince);
    },
    end: (): void => {
      fromMain = 0;
      calmSince = Number.POSITIVE_INFINITY;
      Atomics.store(counts, LEAVING, EVERYBODY);
    },
  };
}

function startThread(workerData: object, app: FastifyInstance, listening: () => void): Worker {
  const thread = new Worker(new URL("./sheddingThread.ts", import.meta.url), { workerData });
  thread.unref();
  thread.on("message", async (told: FromThread) => {
    if (told === "listening") return listening();
    const { id, method, ...asked } = told;
    // Without an answer the thread refuses.
    const answer = await app.inject({ method: method as "GET", ...asked }).catch(() => undefined);
    const found = answer && { status: answer.statusCode, headers: answer.headers, body: answer.rawPayload };
    thread.postMessage({ id, found } satisfies ToThread);
  });
  thread.on("error", (error) => app.log.warn(error, "the thread that refuses has died"));
  return thread;
}
