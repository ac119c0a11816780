import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { createTurns } from "../src/turns.ts";

const CONNECTIONS = 60;
const LONGER_THAN_A_TURN_MS = 25;

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

function workFor(ms: number): void {
  for (const begun = performance.now(); performance.now() - begun < ms; );
}

/** Always has more to do, and tells how many turns it took until all of some new connections were there. */
async function turnsUntilConnected(tell: (turns: ReturnType<typeof createTurns>) => () => void) {
  const turns = createTurns();
  let turnCount = 0;
  const work = () => {
    turnCount += 1;
    turns.wait(work);
    workFor(LONGER_THAN_A_TURN_MS);
  };
  const server = createServer().on("connection", tell(turns)).listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => server.close());
  turns.isFree(); // as a request does that comes first
  turns.wait(work);
  turns.wait(work);
  const { port } = server.address() as AddressInfo;
  const before = turnCount;
  for (let n = 0; n < CONNECTIONS; n++) {
    const socket = connect(port, "127.0.0.1");
    ends.push(() => socket.destroy());
  }
  for (let n = 0; n < CONNECTIONS; n++) await once(server, "connection");
  turns.wait = () => {};
  return turnCount - before;
}

test("new connections are taken many at a time while others are served", async () => {
  expect(await turnsUntilConnected((turns) => turns.connected)).toBeLessThan(CONNECTIONS / 4);
});

test("that test sees that Node.js takes one in each turn when it is not told of them", async () => {
  expect(await turnsUntilConnected(() => () => {})).toBeGreaterThan(CONNECTIONS / 2);
});

test("no turn begins more requests than share a transaction, however little they take", async () => {
  const turns = createTurns();
  turns.isFree(); // as a request does that comes first
  const counts = [];
  let begun = 0;
  let before = 0;
  for (let n = 0; n < 5_000; n++) turns.wait(() => (begun += 1));
  while (turns.waiting() > 0) {
    await nextTurn();
    counts.push(begun - before);
    before = begun;
  }
  expect(Math.max(...counts)).toBe(200);
});

/** How many requests most turns begin, each of which takes a millisecond. */
async function usualTurn(isRelieved: () => boolean) {
  const turns = createTurns(() => 0, isRelieved);
  turns.isFree(); // as a request does that comes first
  const counts: number[] = [];
  let begun = 0;
  for (let n = 0; n < 400; n++) {
    turns.wait(() => {
      begun += 1;
      workFor(1);
    });
  }
  for (let before = 0; turns.waiting() > 0; before = begun) {
    await nextTurn();
    if (begun > before) counts.push(begun - before);
  }
  return counts.sort((a, b) => a - b)[Math.floor(counts.length / 2)]!;
}

test("while another thread refuses, more requests share a turn, and so a commit", async () => {
  expect(await usualTurn(() => true)).toBeGreaterThan(1.3 * (await usualTurn(() => false)));
});

const CALLERS = 64;
const COMMITS = 40;
const REQUEST_MS = 0.5; // all of them together take longer than a turn
const COMMIT_MS = 20;

/** How many requests share one of the last commits, of callers who send the next one as soon as they are answered. */
async function requestsPerCommit(tell: (heldMs: number) => number) {
  let heldMs = 0;
  const turns = createTurns(() => tell(heldMs));
  const sharing: number[] = [];
  const committed = Promise.withResolvers<void>();
  let begun = 0;
  const store = () => {
    const commitAt = performance.now();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, COMMIT_MS);
    heldMs += performance.now() - commitAt;
    sharing.push(begun);
    const isOver = sharing.length >= COMMITS; // or it would go on beside the tests after it
    if (isOver) committed.resolve();
    else for (let n = 0; n < begun; n++) setImmediate(send);
    begun = 0;
  };
  const begin = () => {
    if (begun === 0) setImmediate(store);
    begun += 1;
    workFor(REQUEST_MS);
  };
  const send = () => {
    if (turns.isFree()) begin();
    else turns.wait(begin);
  };
  for (let n = 0; n < CALLERS; n++) send();
  await committed.promise;
  const last = sharing.slice(COMMITS / 2);
  return last.reduce((sum, count) => sum + count, 0) / last.length;
}

test("however long the disk takes, many requests share a commit", async () => {
  expect(await requestsPerCommit((heldMs) => heldMs)).toBeGreaterThan(CALLERS / 3);
});

test("that test sees that few would if the disk's time were taken for that of the requests", async () => {
  expect(await requestsPerCommit(() => 0)).toBeLessThan(CALLERS / 4);
});

test("requests that take long, for whatever reason, are begun a few at a time", async () => {
  const turns = createTurns();
  const counts: number[] = [];
  let begun = 0;
  const wait = () =>
    turns.wait(() => {
      begun += 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3); // as for a page that is not in memory
    });
  turns.isFree(); // as a request does that comes first
  for (let n = 0; n < 200; n++) wait();
  for (; turns.waiting() > 100; begun = 0) {
    await nextTurn();
    counts.push(begun);
  }
  expect(Math.max(...counts.slice(-5))).toBeLessThan(10);
});
