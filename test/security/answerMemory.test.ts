import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { newAnswerBudget, parseStored, spendAnswerBytes } from "../../src/limits/answerBudget.ts";
import { createAnswerMemory } from "../../src/limits/answerMemory.ts";

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

test("all that an answer reads once it is refused is refused with the same error", () => {
  let refusals = 0;
  const hold = () => {
    refusals += 1;
    throw new Error("too much");
  };
  for (const answerBudget of [newAnswerBudget({ maxBytes: 10 }), newAnswerBudget({ hold })]) {
    const errors = [11, 1, 1].map((bytes) => {
      try {
        return spendAnswerBytes({ answerBudget }, bytes);
      } catch (error) {
        return error;
      }
    });
    expect(errors[0]).toBeInstanceOf(Error);
    expect(new Set(errors).size).toBe(1);
  }
  expect(refusals).toBe(1);
});

test("of an answer of more than a megabyte each value counts, members of objects more, before its text is parsed", () => {
  const memory = createAnswerMemory();
  const large = answer();
  const text = `[${'{"a,[{":[]},'.repeat(100_000)}0]`; // 300,002 values, 100,000 of them members; those within strings are none
  const answerBudget = newAnswerBudget({ hold: (bytes) => memory.hold(large, "one", bytes) });
  spendAnswerBytes({ answerBudget }, 1_000_000);
  parseStored({ answerBudget }, text);
  expect(memory.heldBytes()).toBe(1_000_000);
  spendAnswerBytes({ answerBudget }, text.length);
  const before = memory.heldBytes();
  parseStored({ answerBudget }, text);
  expect(memory.heldBytes() - before).toBe(300_002 * 32 + 100_000 * 64);
  expect(() => {
    for (let n = 0; n < 3; n++) parseStored({ answerBudget }, text);
  }).toThrow("larger than 32 MB");
});
