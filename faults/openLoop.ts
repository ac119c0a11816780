import { execFile } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createCount, type Figures } from "./figures.ts";
import { bytesOf, type Mix, type Prepared, requestsOf } from "./requestMixes.ts";

// Run as a program with an Order as JSON: sends requests at random moments (Poisson), whether earlier ones are answered
// or not, as many users do who do not know of each other; without `perSecond` each connection sends as soon as it is
// answered, which finds what a gateway can do. Prints Figures as JSON. autocannon waits for each answer before it sends the
// next request on a connection, and k6 does not come by npm.

export interface Order {
  url: string;
  mix: Mix;
  token?: string;
  seconds: number;
  connections: number;
  perSecond?: number;
  /** How many more are sent by connections of their own, each opened for one request. */
  newcomersPerSecond?: number;
  /** What is answered later than this helps nobody any more. */
  deadlineMs: number;
}

const CLOSES = /\r\nconnection: close/i;
const LAST_ANSWERS_MS = 3_000;

/** All connections read into it, one after another: streams would cost the load more of the machine. */
const received = Buffer.alloc(64 * 1024);

class Connection {
  readonly opened: Promise<unknown>;
  readonly #socket: Socket;
  #received = "";
  #answered: ((head: string) => void) | undefined;

  constructor({ hostname, port }: URL, lost: (wasWaiting: boolean) => void) {
    const callback = (length: number) => {
      this.#take(received.toString("latin1", 0, length));
      return true;
    };
    const onread = { buffer: received, callback };
    this.#socket = connect({ host: hostname, port: Number(port), noDelay: true, onread });
    this.#socket.on("error", () => {}); // close reports it
    this.#socket.on("close", () => lost(this.#answered !== undefined));
    this.opened = once(this.#socket, "connect");
  }

  send(request: Buffer, answered: (head: string) => void): void {
    this.#answered = answered;
    this.#socket.write(request);
  }

  end(): void {
    this.#answered = undefined;
    this.#socket.destroy();
  }

  #take(chunk: string): void {
    this.#received += chunk;
    const end = this.#received.indexOf("\r\n\r\n");
    if (end < 0) return;
    const head = this.#received.slice(0, end);
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    const isWhole =
      length === undefined
        ? this.#received.endsWith("\r\n0\r\n\r\n")
        : this.#received.length >= end + 4 + Number(length);
    if (!isWhole) return;
    this.#received = "";
    const answered = this.#answered;
    this.#answered = undefined;
    answered?.(head);
  }
}

/** Connections, opened before anything is sent: a service that is overloaded is not one that nobody was connected to. */
async function openConnections({ url, connections }: Order, on: { lost(): void; opened(): void }) {
  const free: Connection[] = [];
  const open = async () => {
    const connection = new Connection(new URL(url), (wasWaiting) => {
      const at = free.indexOf(connection);
      if (at >= 0) free.splice(at, 1);
      all.delete(connection);
      if (wasWaiting) on.lost();
      if (!isOver) void open();
    });
    await connection.opened;
    free.push(connection);
    all.add(connection);
    on.opened();
  };
  const all = new Set<Connection>();
  let isOver = false;
  for (let n = 0; n < connections; n++) await open();
  return {
    free,
    end: () => {
      isOver = true;
      for (const connection of all) connection.end();
    },
  };
}

/** Has somebody come now and then who was not connected, and returns how long each waited for an answer, until `end`. */
function comeAnew({ url, newcomersPerSecond }: Order, requests: Prepared[], welcome: (ms: number) => void) {
  if (!newcomersPerSecond) return { end: () => {} };
  const waiting = new Map<Connection, number>();
  const timer = setInterval(() => {
    const newcomer: Connection = new Connection(new URL(url), () => {
      if (waiting.delete(newcomer)) welcome(Number.POSITIVE_INFINITY);
    });
    waiting.set(newcomer, performance.now());
    const send = () =>
      newcomer.send(bytesOf(requests[0]!), () => {
        welcome(performance.now() - waiting.get(newcomer)!);
        waiting.delete(newcomer);
        newcomer.end();
      });
    newcomer.opened.then(send, () => {}); // lost: close reports it
  }, 1_000 / newcomersPerSecond);
  return {
    end: () => {
      clearInterval(timer);
      for (const [newcomer, begun] of waiting) {
        welcome(performance.now() - begun);
        newcomer.end(); // or an answer on its way would be counted again
      }
      waiting.clear();
    },
  };
}

async function run(order: Order): Promise<Figures> {
  const { perSecond, seconds } = order;
  const requests = requestsOf(order.mix, order.token);
  let underWay = 0;
  let hasBegun = false;
  const { free, end } = await openConnections(order, {
    lost: () => {
      found.unanswered += 1;
      underWay -= 1;
    },
    opened: () => {
      if (hasBegun && perSecond === undefined && performance.now() < over) send();
    },
  });
  const { found, count, welcome, figures } = createCount(order);
  const begun = performance.now();
  const over = begun + seconds * 1_000;
  const send = () => {
    // The one that waited longest: of one that is hardly used the gateway may let go while a request is on its way to it.
    const connection = free.shift();
    if (!connection) {
      found.unsent += 1;
      return;
    }
    found.sent += 1;
    underWay += 1;
    const sentAt = performance.now();
    const request = requests[Math.floor(Math.random() * requests.length)]!;
    connection.send(bytesOf(request), (head) => {
      underWay -= 1;
      count(head, sentAt);
      if (CLOSES.test(head)) return; // another is opened for it
      free.push(connection);
      if (perSecond === undefined && performance.now() < over) send();
    });
  };
  hasBegun = true;
  const coming = comeAnew(order, requests, welcome);
  if (perSecond === undefined) {
    while (free.length > 0) send();
    await wait(seconds * 1_000);
  } else {
    let due = begun;
    while (due < over) {
      for (const now = performance.now(); due <= Math.min(now, over); ) {
        send();
        due += (-Math.log(1 - Math.random()) / perSecond) * 1_000;
      }
      await wait(1);
    }
  }
  const lastMs = Math.max(LAST_ANSWERS_MS, order.deadlineMs);
  for (let waitedMs = 0; underWay > 0 && waitedMs < lastMs; waitedMs += 20) await wait(20);
  found.unanswered += underWay;
  coming.end();
  const counted = figures();
  end();
  return counted;
}

/** Runs an order in a process of its own, after a command such as taskset. */
export async function runOrder(order: Order, [...within]: string[] = []): Promise<Figures> {
  const program = fileURLToPath(import.meta.url);
  const [command, ...args] = [...within, process.execPath, program, JSON.stringify(order)];
  const { stdout } = await promisify(execFile)(command!, args);
  return JSON.parse(stdout);
}

if (import.meta.main) process.stdout.write(JSON.stringify(await run(JSON.parse(process.argv[2]!))));
