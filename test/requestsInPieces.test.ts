import { setImmediate as nextTurn, setTimeout as wait } from "node:timers/promises";
import { expect, test } from "vitest";
import { createRandom, type Random } from "../torture/random.ts";
import { serve } from "./refusingServer.ts";

/** Longer than any answer takes: a piece that is no whole request gets none. */
const PATIENCE_MS = 6;

const whole = (lines: string[], body = "") => [...lines, "", body].join("\r\n");

/** Requests that look like parts of one another, whose answers tell them apart. */
function drawRequest({ below, oneOf }: Random, id: number): string {
  const other = `GET /other HTTP/1.1\r\nHost: x\r\n\r\n`;
  const body = oneOf(["", "{}", other, other + other, other.slice(0, below(other.length))]);
  const odd = oneOf([[], [], [`X: ${id}`], ["X:", "Y: GET /other HTTP/1.1"]]);
  const [get, post] = [`GET /${id} HTTP/1.1`, `POST /${id} HTTP/1.1`];
  return oneOf([
    whole([get, "Host: x", ...odd]),
    whole([post, "Host: x", ...odd, `Content-Length: ${body.length}`], body),
    whole([post, `Content-Length: ${body.length}`, "Connection: keep-alive", ...odd], body),
    whole(
      [post, "Transfer-Encoding: chunked", ...odd],
      `${body && `${body.length.toString(16)}\r\n${body}\r\n`}0\r\n\r\n`,
    ),
    whole([post, "Expect: 100-continue", `Content-Length: ${body.length}`], body),
  ]);
}

/** The same bytes in pieces: as requests, some of them together, or cut anywhere. */
function cut({ below }: Random, requests: string[]): string[] {
  const pieces: string[] = [];
  for (const request of requests) {
    const way = below(10);
    if (way === 0) pieces.push((pieces.pop() ?? "") + request);
    else if (way === 1) {
      const at = below(request.length);
      pieces.push((pieces.pop() ?? "") + request.slice(0, at), request.slice(at));
    } else if (way === 2) pieces.push(...request.split(/(?<=\n)/));
    else pieces.push(request);
  }
  return pieces.filter((piece) => piece !== "");
}

test("however requests are cut and put together, each is answered once, in order, by its own answer or a refusal", async () => {
  const seed = Math.trunc(Math.random() * 1e9);
  const random = createRandom(seed);
  await using server = await serve({
    isFull: () => random.below(3) > 0,
    answer: async (request, response) => {
      if (random.below(3) === 0) await wait(random.below(4));
      if (random.below(2) === 0) await request.resume().toArray();
      response.end(request.url);
    },
  });
  let [early, all] = [0, 0];
  for (let round = 0; round < 60; round++) {
    const readBefore = server.read.length;
    const { socket, answers } = await server.open();
    const requests = Array.from({ length: 24 }, (_, id) => drawRequest(random, id));
    for (const piece of cut(random, requests)) {
      const before = answers().length;
      socket.write(piece, "latin1");
      // Most clients wait for an answer before they send more.
      const until = performance.now() + (random.below(4) > 0 ? PATIENCE_MS : 0);
      do await nextTurn();
      while (answers().length === before && performance.now() < until);
    }
    const told = () =>
      answers().map(({ head, body }) => (head.startsWith("HTTP/1.1 503") ? "refused" : body));
    await expect
      .poll(() => told().length, { message: `seed ${seed}, round ${round}`, interval: 2 })
      .toBe(requests.length);
    const wanted = told().map((answer, id) => (answer === "refused" ? "refused" : `/${id}`));
    expect(told(), `seed ${seed}, round ${round}`).toEqual(wanted);
    socket.destroy();
    early += requests.length - (server.read.length - readBefore);
    all += requests.length;
  }
  expect(early).toBeGreaterThan(all / 50);
});
