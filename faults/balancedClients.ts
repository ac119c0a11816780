import { randomUUID } from "node:crypto";
import { Agent, type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { DATASET, headers } from "./gateway.ts";
import { kinds, type Ledger } from "./writers.ts";

const CLIENTS = 32;
const CHECK_INTERVAL_MS = 100;
const CHECK_TIMEOUT_MS = 2_000;

/** How much was sent, and what failed for good. */
export interface Sent {
  requests: number;
  failed: string[];
  /** Refused connections: nothing was sent over them, so another gateway was asked. */
  sentElsewhere: number;
  /** Refused for too many requests before them, as on a machine that is busy with something else: clients send those again. */
  sentAgain: number;
}

const TOO_MANY = /"Too many requests [^"]*try again in a moment/;

/**
 * Has clients that keep their connections send through a simple load balancer: it asks each gateway every 100 ms whether
 * it is ready. What could not be sent goes to another gateway; what was sent and has no answer has failed.
 */
export function startClients(urls: string[], ledger: Ledger) {
  const agent = new Agent({ keepAlive: true });
  const balancer = startBalancer(urls);
  const sent: Sent = { requests: 0, failed: [], sentElsewhere: 0, sentAgain: 0 };
  let isStopped = false;
  const sendOnce = async (path: string, body: object | undefined): Promise<void> => {
    for (;;) {
      const url = await balancer.choose();
      const answer = await ask(agent, url + path, body).catch((error) => {
        if (!(error instanceof NotSentError)) throw error;
      });
      if (!answer) {
        sent.sentElsewhere += 1;
        balancer.leaveOut(url);
        continue;
      }
      const received = await text(answer);
      if (answer.statusCode === 503 && TOO_MANY.test(received)) {
        sent.sentAgain += 1;
        continue;
      }
      const hasFailed = answer.statusCode! >= 300 || received.includes('"errors"');
      if (hasFailed) throw new Error(`${answer.statusCode} ${received.slice(0, 200)}`);
      return;
    }
  };
  const client = async (at: number) => {
    for (let n = at; !isStopped; n++) {
      const name = randomUUID();
      const write = kinds[n % (kinds.length + 1)]; // and one more, to read
      const [path, body] = write?.(name) ?? [`/datasets/${DATASET}`, undefined];
      sent.requests += 1;
      try {
        await sendOnce(path, body);
        if (body) ledger.acknowledged.add(name);
      } catch (error) {
        sent.failed.push((error as Error).message);
      }
    }
  };
  const ended = Promise.all(Array.from({ length: CLIENTS }, (_, at) => client(at)));
  return {
    sent,
    stop: async () => {
      isStopped = true;
      await ended;
      await balancer.stop();
      agent.destroy();
    },
  };
}

function startBalancer(urls: string[]) {
  const ready = new Set<string>();
  let isStopped = false;
  const check = async (url: string) => {
    while (!isStopped) {
      const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
      const answer = await fetch(`${url}/ready`, { headers: { connection: "close" }, signal }).catch(
        () => {},
      );
      if (answer?.status === 200) ready.add(url);
      else ready.delete(url);
      await answer?.body?.cancel();
      await wait(CHECK_INTERVAL_MS);
    }
  };
  const ended = Promise.all(urls.map(check));
  return {
    /** One that is ready, when there is one. */
    choose: async (): Promise<string> => {
      while (ready.size === 0) await wait(CHECK_INTERVAL_MS / 5);
      return [...ready][Math.floor(Math.random() * ready.size)]!;
    },
    leaveOut: (url: string): void => void ready.delete(url),
    stop: async () => {
      isStopped = true;
      await ended;
    },
  };
}

class NotSentError extends Error {}

function ask(agent: Agent, url: string, body: object | undefined): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    let isSent = false;
    const asking = request(url, { agent, method: body ? "POST" : "GET", headers });
    asking.once("socket", (socket) => {
      if (!socket.connecting) isSent = true;
      else
        socket.once("connect", () => {
          isSent = true;
        });
    });
    asking.once("response", resolve);
    asking.once("error", (error) => reject(isSent ? error : new NotSentError()));
    asking.end(body && JSON.stringify(body));
  });
}
