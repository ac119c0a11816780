import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import { openPostgresqlChangeFeed } from "../../src/database/postgresql/changeFeed.ts";
import { createPubSub } from "../../src/database/pubsub.ts";
import { turnsDuring } from "../support/turns.ts";

/** A connection to PostgreSQL on which a test sends the notifications. */
class Connection extends EventEmitter {
  connect = async () => {};
  query = async (_statement?: string) => {};
  end = async () => {};
}

test("a subscriber that hears of a change by another gateway reads no cached prompt of before", async () => {
  const connection = new Connection();
  const pubSub = createPubSub();
  const feed = await openPostgresqlChangeFeed("self", () => connection, pubSub);
  const messages = pubSub.prompts.listen({ workspaceId: "one", tokenId: null });
  await messages.next();
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

test.each([
  ["logs", "gabbro_logs", (id: string) => ({ id, traceId: "t", promptSlug: "" })],
  [
    "changes of prompts",
    "gabbro_prompts",
    (id: string) => ({ slug: id, action: "x", tag: null, version: null }),
  ],
])(
  "others are served while subscribers are told of many %s of another gateway, which come in their order",
  async (_, channel, messageOf) => {
    const connection = new Connection();
    const ids: string[] = [];
    const pubSub = createPubSub();
    vi.spyOn(pubSub, "publish").mockImplementation((_, { id }) => void ids.push(id));
    vi.spyOn(pubSub.prompts, "publish").mockImplementation((_, message) => void ids.push(message!.slug));
    const feed = await openPostgresqlChangeFeed("self", () => connection, pubSub);
    let nowMs = 0;
    vi.spyOn(performance, "now").mockImplementation(() => ++nowMs);
    const sent = Array.from({ length: 1_000 }, (_, n) => `message ${n}`);
    const send = (id: string) => {
      const payload = JSON.stringify({ origin: "other", workspaceId: "one", ...messageOf(id) });
      connection.emit("notification", { channel, payload });
    };
    const turns = await turnsDuring(async () => {
      for (const id of sent) send(id);
      await vi.waitFor(() => expect(ids).toHaveLength(sent.length));
    });
    expect(turns).toBeGreaterThan(50);
    send("one more");
    expect(ids).toEqual([...sent, "one more"]);
    vi.restoreAllMocks();
    await feed.close();
  },
);

test("no more than 10,000 logs of other gateways wait: beyond them, the oldest is published at once", async () => {
  const connection = new Connection();
  const ids: number[] = [];
  const publish = (_: string, { id }: { id: string }) => void ids.push(Number(id));
  const feed = await openPostgresqlChangeFeed("self", () => connection, { ...createPubSub(), publish });
  const sent = Array.from({ length: 10_003 }, (_, n) => n);
  for (const id of sent) {
    const payload = JSON.stringify({ origin: "other", workspaceId: "one", id, traceId: "t", promptSlug: "" });
    connection.emit("notification", { channel: "gabbro_logs", payload });
  }
  expect(ids).toEqual([0, 1, 2]);
  await vi.waitFor(() => expect(ids).toEqual(sent));
  await feed.close();
});

test("a subscription to logs that began before its gateway listened ends once it does, as logs may be missing in it", async () => {
  const pubSub = createPubSub();
  let attempts = 0;
  const feed = await openPostgresqlChangeFeed(
    "self",
    () => {
      const connection = new Connection();
      attempts += 1;
      if (attempts === 1) connection.connect = async () => Promise.reject(new Error("too many clients"));
      return connection;
    },
    pubSub,
  );
  const logs = pubSub.listen({ workspaceId: "one", tokenId: null });
  expect(await logs.next()).toEqual({ done: true, value: undefined });
  expect(attempts).toBe(2);
  await feed.close();
  pubSub.close();
});

test("a gateway caches nothing once its connection answers no heartbeat, until another one listens", async () => {
  const isBack = Promise.withResolvers<void>();
  const [silent, next] = [new Connection(), new Connection()];
  silent.query = async (statement = "") => {
    if (statement === "select 1") throw new Error("Query read timeout");
  };
  next.connect = () => isBack.promise;
  const connections = [silent, next];
  const feed = await openPostgresqlChangeFeed("self", () => connections.shift()!, createPubSub());
  expect(feed.countWrites()).toBe(feed.countWrites());
  await vi.waitFor(() => expect(feed.countWrites()).not.toBe(feed.countWrites()), 10_000);
  expect(feed.countWrites()).not.toBe(feed.countWrites());
  isBack.resolve();
  await vi.waitFor(() => expect(feed.countWrites()).toBe(feed.countWrites()), 10_000);
  await feed.close();
});
