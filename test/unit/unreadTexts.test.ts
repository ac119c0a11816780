import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { createUnreadTexts } from "../../src/http/unreadTexts.ts";

class Response extends EventEmitter {
  closed = false;
  destroy() {
    this.closed = true;
    this.emit("close");
  }
}

const newResponse = () => new Response() as unknown as ServerResponse;

test("texts of all workspaces take no more than the limit, and the oldest of the one with the most are closed", () => {
  const texts = createUnreadTexts(128);
  const responses = Array.from({ length: 20 }, newResponse);
  for (const [n, response] of responses.entries()) texts.hold(response, `${n}`, { owner: {}, bytes: 40 + n });
  const open = responses.filter(({ closed }) => !closed);
  expect(open).toEqual([responses[0], responses[19]]);
});

test("a workspace has half of it, a text that many are sent counts once, and what was sent counts no more", () => {
  const texts = createUnreadTexts(128);
  const owner = {};
  const responses = Array.from({ length: 5 }, newResponse);
  for (const response of responses) {
    texts.hold(response, "one", { owner, bytes: 60 });
    texts.hold(response, "one", { owner, bytes: 60 });
  }
  expect(responses.every(({ closed }) => !closed)).toBe(true);
  for (const response of responses) response.destroy();
  const [first, second, other] = [newResponse(), newResponse(), newResponse()];
  texts.hold(first, "one", { owner: {}, bytes: 60 });
  texts.hold(other, "other", { owner: {}, bytes: 60 });
  expect([first.closed, other.closed]).toEqual([false, false]);
  texts.hold(second, "one", { owner: {}, bytes: 60 });
  expect([first.closed, second.closed, other.closed]).toEqual([true, false, false]);
});
