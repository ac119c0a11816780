import { once } from "node:events";
import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { beginWork, endWork, onceDone } from "../../src/limits/handlerWork.ts";

test("what an answer holds is released although its body is complete only after it was answered", async () => {
  const answer = new PassThrough();
  const released: string[] = [];
  onceDone(answer, () => released.push("place"));
  endWork(answer);
  beginWork(answer);
  answer.destroy();
  await once(answer, "close");
  expect(released).toEqual(["place"]);
});
