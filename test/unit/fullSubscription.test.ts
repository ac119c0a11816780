import { expect, test, vi } from "vitest";
import { createPubSub } from "../../src/database/pubsub.ts";

test("a subscription whose queue is full costs nothing for the further messages of the same turn", async () => {
  const pubSub = createPubSub();
  const isWanted = vi.fn(() => true);
  const messages = pubSub.listen({ workspaceId: "a", tokenId: "b" }, isWanted);
  const first = messages.next();
  for (let n = 0; n < 10_000; n++) pubSub.publish("a", { id: `${n}`, traceId: "c", promptSlug: "" });
  expect(isWanted.mock.calls.length).toBeLessThan(1_100); // each would throw an error with its stack
  await expect(first).resolves.toMatchObject({ value: { id: "0" } });
  pubSub.close();
});
