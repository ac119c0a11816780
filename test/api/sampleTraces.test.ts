import { expect, it } from "vitest";
import { startServer } from "../support/server.ts";

it("the sample has traces of yesterday: a whole one, one with an error, and one without its parent", async () => {
  await using server = await startServer({ sample: true });
  const traces = await server.run(
    "{ traces { nodes { name startTime logCount errorCount complete unpricedCount } } }",
  );
  const dayMs = 86_400_000;
  const day = new Date(Math.floor(Date.now() / dayMs) * dayMs - dayMs).toISOString().slice(0, 10);
  const at = (hour: number) => `${day}T${hour}:00:00.000Z`;
  const priced = { unpricedCount: 0 };
  expect(traces).toEqual([
    { name: "exchange rate", startTime: at(14), logCount: 1, errorCount: 0, complete: false, ...priced },
    { name: "book a hotel", startTime: at(13), logCount: 3, errorCount: 1, complete: true, ...priced },
    { name: "plan a trip", startTime: at(12), logCount: 5, errorCount: 0, complete: true, ...priced },
  ]);
});
