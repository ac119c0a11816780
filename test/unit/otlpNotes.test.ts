import { expect, test } from "vitest";
import { createNotes } from "../../src/logs/otlp/notes.ts";

test("the message of a request names each reason once, and counts those beyond twenty", () => {
  const notes = createNotes();
  for (let index = 0; index < 30; index++)
    notes.reject({ index, code: "malformed", reason: `reason ${index % 25}${"x".repeat(1_000)}` });
  const message = notes.message(40);
  expect(message).toMatch(
    /^30 of 40 spans were rejected: span 0 reason 0x+ \(and 1 more\); span 1 reason 1x+/,
  );
  expect(message).toMatch(/; 5 more for other reasons\.$/);
  expect(message.length).toBeLessThan(20 * 340);
});

test("there is no message when there is nothing to say", () => {
  expect(createNotes().message(3)).toBe("");
});
