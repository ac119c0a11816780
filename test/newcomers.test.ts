import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "vitest";
import { runOrder } from "../torture/openLoop.ts";
import { type Server, startServer } from "./server.ts";

// The long form: npm run torture -- overload. On PostgreSQL the event loop is soon done, and waits for the database.

const CALLERS = 150;
const NEWCOMERS = 60;

/** Always has more to do, and tells in how many turns of the event loop it answered until all of some newcomers were let in. */
async function turnsUntilLetIn({ app, url, token }: Server) {
  const { server } = app;
  const { hostname, port } = new URL(url);
  const order = { url, token, mix: "served", deadlineMs: 30_000 } as const;
  const loading = runOrder({ ...order, connections: CALLERS, seconds: 3 });
  let answered = 0;
  let turnCount = 0;
  let isCounted = false;
  server.on("request", (_, response) => {
    response.once("finish", () => {
      answered += 1;
      if (!isCounted) turnCount += 1;
      isCounted = true;
      setImmediate(() => {
        isCounted = false;
      });
    });
  });
  while (answered < 3 * CALLERS) await once(server, "request"); // until all of them are there
  const before = turnCount;
  const newcomers = Array.from({ length: NEWCOMERS }, () => connect(Number(port), hostname));
  for (let n = 0; n < NEWCOMERS; n++) await once(server, "connection");
  const turns = turnCount - before;
  for (const newcomer of newcomers) newcomer.destroy();
  expect(await loading).toMatchObject({ wrong: 0, unanswered: 0 });
  return turns;
}

test("a gateway that is never done lets many newcomers in at a time", async () => {
  await using server = await startServer({ sample: true });
  expect(await turnsUntilLetIn(server)).toBeLessThan(NEWCOMERS / 4);
});

test("that test sees that it lets in one in each turn when it does not hear of them", async () => {
  await using server = await startServer({ sample: true });
  const [ofNode, ...others] = server.app.server.listeners("connection");
  for (const other of others) server.app.server.off("connection", other as () => void);
  expect(ofNode).toBeDefined();
  expect(await turnsUntilLetIn(server)).toBeGreaterThan(NEWCOMERS / 2);
});
