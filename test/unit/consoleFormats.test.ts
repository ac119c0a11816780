import { expect, it, test } from "vitest";
import { formatClock, formatDay, formatPrice } from "../../console/src/parts/format.ts";
import { messagesOf, messageText } from "../../console/src/parts/messages.ts";
import { ticksOf } from "../../console/src/parts/ticks.ts";

const now = new Date(2026, 10, 24, 12).getTime();

it("a day and a time name their year when it is not this one", () => {
  expect([formatDay("2026-01-31", now), formatDay("2025-01-31", now)]).toEqual(["Jan 31", "Jan 31, 2025"]);
  const at = (year: number) => formatClock(new Date(year, 0, 31, 9, 5, 7).toISOString(), now);
  expect([at(2026), at(2025)]).toEqual(["Jan 31 09:05:07", "Jan 31, 2025 09:05:07"]);
});

it.each(["yesterday", "2026-13-01", "2026-02-3", "<b>"])("what is no day stays as it is: %s", (text) => {
  expect(formatDay(text, now)).toBe(text);
});

it.each([
  [0.125, "$0.125"],
  [1.375, "$1.375"],
  [150, "$150.00"],
  [1_250.5, "$1,250.50"],
  [0, "$0.00"],
  [0.0000375, "$0.0000375"],
])("a price shows all its digits: %d", (price, text) => {
  expect(formatPrice(price)).toBe(text);
});

it.each([
  [
    [39, 52, 43],
    [0, 30, 60],
  ],
  [
    [0, 3, 1],
    [0, 3],
  ],
  [[5], [0, 3, 6]],
  [[1], [0, 1]],
  [[0], [0, 1]],
  [
    [0.031, 0.02],
    [0, 0.02, 0.04],
  ],
  [[12.6], [0, 8, 16]],
])("a chart of %j has lines at %j", (values, ticks) => {
  expect(ticksOf(values)).toEqual(ticks);
});

it.each<[unknown, string | null]>([
  [[{ role: "user", content: "Hello" }], "Hello"],
  [{ role: "assistant", content: "Hello" }, "Hello"],
  [[{ role: "user", parts: [{ type: "text", content: "a" }, { text: "b" }] }], "a\nb"],
  [
    [
      { role: "system", content: "s" },
      { role: "user", content: [{ type: "text", text: "u" }] },
    ],
    "s u",
  ],
  [[{ role: "assistant", tool_calls: [{ id: "1" }] }], null],
  [[{ role: "user", content: "a" }, { city: "Nairobi" }], null],
  [{ answer: "x" }, null],
  ["Hello", null],
  [[], null],
])("the messages of a model are shown as their text: %j", (value, text) => {
  expect(messageText(value)).toBe(text);
});

test("messages are shown with all that they hold", () => {
  const call = { id: "1", function: { name: "weather", arguments: "{}" } };
  const picture = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
  const marked = { type: "text", text: "kept", cache_control: { type: "ephemeral" } };
  const messages = [
    { role: "user", name: "ada", content: [{ type: "input_text", text: "a" }, picture, marked, "b"] },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "1", content: "22 °C" },
    { role: "model", parts: [{ text: "warm" }] },
  ];
  const shown = [
    { role: "user", name: "ada", text: "a\nb", rest: { parts: [picture, marked] } },
    { role: "assistant", name: null, text: "", rest: { tool_calls: [call] } },
    { role: "tool", name: null, text: "22 °C", rest: { tool_call_id: "1" } },
    { role: "model", name: null, text: "warm", rest: null },
  ];
  expect(messagesOf(messages)).toEqual(shown);
  expect(messagesOf({ messages })).toEqual(shown);
  expect(messagesOf({ messages, temperature: 0 })).toBeNull();
  expect(messagesOf([...messages, { city: "Nairobi" }])).toBeNull();
});
