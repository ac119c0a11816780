import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createTurns } from "../src/turns.ts";

const CONNECTIONS = 60;
const LONGER_THAN_A_TURN_MS = 25;

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

/** Always has more to do, and tells how many turns it took until all of some new connections were there. */
async function turnsUntilConnected(tell: (turns: ReturnType<typeof createTurns>) => () => void) {
  const turns = createTurns();
  let turnCount = 0;
  const work = () => {
    turnCount += 1;
    turns.wait(work);
    for (const begun = performance.now(); performance.now() - begun < LONGER_THAN_A_TURN_MS; );
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
