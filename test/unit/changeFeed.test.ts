import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { openPostgresqlChangeFeed } from "../../src/database/postgresql/changeFeed.ts";
import { createPubSub } from "../../src/database/pubsub.ts";

/** A connection to PostgreSQL on which a test sends the notifications. */
class Connection extends EventEmitter {
  connect = async () => {};
  query = async () => {};
  end = async () => {};
}

test("a subscriber that hears of a change by another gateway reads no cached prompt of before", async () => {
  const connection = new Connection();
  const pubSub = createPubSub();
  const feed = openPostgresqlChangeFeed("self", () => connection, pubSub);
  const messages = pubSub.prompts.listen({ workspaceId: "one", tokenId: null });
  await messages.next();
  await messages.next(); // it listens
  const before = feed.countWrites();
  const change = { slug: "guide", action: "publishPrompt", tag: "production", version: "1" };
  const payload = (origin: string) => JSON.stringify({ origin, workspaceId: "one", ...change });
  connection.emit("notification", { channel: "gabbro_prompts", payload: payload("self") });
  expect(feed.countWrites()).toBe(before);
  const received = messages.next();
  connection.emit("notification", { channel: "gabbro_prompts", payload: payload("other") });
  expect(feed.countWrites()).not.toBe(before);
  expect((await received).value).toEqual(change);
  await feed.close();
  pubSub.close();
});
