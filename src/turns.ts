/**
 * For how long requests are worked on before the event loop looks again at what has come, and refuses what is too much:
 * as long as refusing took last, within these bounds, so that neither takes all the time nor keeps the other waiting. Each
 * turn has a commit of its own, so that shorter ones serve less. While another thread refuses, looking can wait for longer.
 */
const TURN_MS = 12;
const LONGEST_TURN_MS = 20;
/** As many as share a transaction: more would wait for another one, and hold the event loop meanwhile. */
const MOST_IN_TURN = 200;
/** A refusal takes Node.js about as long again, for reading and for the end of the answer. */
const NODE_SHARE = 2;
/** How long it may look before it works again. */
const LONGEST_LOOK_MS = 10;
/** How much one turn says of the next. */
const SMOOTHING = 0.2;

/**
 * Begins requests at once while there is time, else one after another, with looks at what else has come in between.
 * `heldMs` tells for how long commits have held the event loop so far, and `isRelieved` whether another thread refuses.
 */
export function createTurns(heldMs = () => 0, isRelieved = () => false) {
  const waiting: (() => unknown)[] = [];
  const meter = createMeter(heldMs);
  let isScheduled = false;
  let turnAt = 0;
  let refusedMs = 0;
  let lookingSince: number | undefined;
  let hasConnected = false;
  const shortestMs = () => (isRelieved() ? LONGEST_TURN_MS : TURN_MS);
  const schedule = () => {
    isScheduled = true;
    setImmediate(go); // Node.js runs it when it has read what had come by all connections
  };
  const beginTurn = (now: number) => {
    turnAt = now;
    schedule();
  };
  const go = () => {
    isScheduled = false;
    const now = performance.now();
    meter.end(now, refusedMs);
    lookingSince ??= now;
    // Node.js takes one new connection in each look: by one look in a turn, who has just come would wait for seconds.
    const looksAgain = hasConnected && now - lookingSince < LONGEST_LOOK_MS;
    hasConnected = false;
    if (looksAgain && waiting.length > 0) return schedule();
    begin(now, Math.min(LONGEST_TURN_MS, Math.max(shortestMs(), refusedMs)));
  };
  const begin = (now: number, turnMs: number) => {
    turnAt = now;
    refusedMs = 0;
    lookingSince = undefined;
    // Taken out: what stayed in a queue that is never empty would be held for as long as the overload lasts.
    const begun = waiting.splice(0, Math.min(MOST_IN_TURN, meter.mostIn(turnMs)));
    if (begun.length === 0) return; // the event loop may now wait for more
    meter.begin(now, begun.length);
    schedule(); // also when none is left, to measure what these take
    for (const one of begun) one();
  };
  return {
    /** Whether a request may begin now. */
    isFree: (): boolean => {
      if (waiting.length > 0) return false;
      const now = performance.now();
      if (!isScheduled) beginTurn(now);
      return now - turnAt < shortestMs();
    },
    /** To be told how long each refusal took. */
    refused: (tookMs: number): void => {
      refusedMs += NODE_SHARE * tookMs;
      if (!isScheduled) beginTurn(performance.now());
    },
    /** To be told of each new connection. */
    connected: (): void => {
      hasConnected = true;
    },
    wait: (one: () => unknown): void => void waiting.push(one),
    /** How many wait for their turn. */
    waiting: (): number => waiting.length,
    /** How many could be served in so long, if nothing else had to be done. */
    mostIn: meter.mostIn,
  };
}

/**
 * Measures what requests take, with all that follows from them, which is done only when their turn has ended: but not what
 * their commit took of that. If it counted, fewer would share the next one of a slow disk, and in the end each would have
 * its own.
 */
function createMeter(heldMs: () => number) {
  let costMs = 1;
  let commitMs = 0;
  let begun = { count: 0, atMs: 0, heldMs: 0 };
  return {
    begin: (atMs: number, count: number): void => {
      begun = { count, atMs, heldMs: heldMs() };
    },
    /** Given what refusing took of it. */
    end: (now: number, refusedMs: number): void => {
      if (begun.count === 0) return;
      commitMs = heldMs() - begun.heldMs;
      const workedMs = Math.max(0, now - begun.atMs - commitMs - refusedMs);
      costMs += SMOOTHING * (workedMs / begun.count - costMs);
      begun.count = 0;
    },
    /** How many requests take that long; while the disk is slow, as many as take as long as the last commit did. */
    mostIn: (turnMs: number): number => Math.max(1, Math.floor(Math.max(turnMs, commitMs) / costMs)),
  };
}
