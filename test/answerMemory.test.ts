import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { createAnswerMemory } from "../src/limits/answerMemory.ts";

const answer = () => new Writable();
const closed = async (writable: Writable) => {
  writable.destroy();
  await new Promise((resolve) => writable.once("close", resolve));
};

test("the answers of one workspace hold half of the memory at most, those of all no more than there is", () => {
  const memory = createAnswerMemory(100);
  memory.hold(answer(), "one", 50);
  expect(() => memory.hold(answer(), "one", 1)).toThrow("Too many large answers");
  memory.hold(answer(), "two", 30);
  memory.hold(answer(), "two", 20);
  expect(() => memory.hold(answer(), "three", 1)).toThrow("Too many large answers");
  expect(memory.heldBytes()).toBe(100);
});

test("what an answer held is free again when it is closed, whoever ended it", async () => {
  const memory = createAnswerMemory(100);
  const large = answer();
  memory.hold(large, "one", 20);
  memory.hold(large, "one", 30);
  await closed(large);
  expect(memory.heldBytes()).toBe(0);
  memory.hold(large, "one", 10); // its resolvers go on until their deadline
  expect(memory.heldBytes()).toBe(0);
  memory.hold(answer(), "one", 50);
});
