import { expect, it } from "vitest";
import { blockOf, parseBlock } from "../../console/src/screens/dataset/blockText.ts";

it.each<[block: string, cells: string[][]]>([
  ["", []],
  [
    "a\tb\r\nc\td\r\n",
    [
      ["a", "b"],
      ["c", "d"],
    ],
  ],
  ["a\tb\nc", [["a", "b"], ["c"]]],
  ["\r\n", [[""]]],
  ["a\r\n\r\n", [["a"], [""]]],
  ["a\n\nb", [["a"], [""], ["b"]]],
  ["\t\n", [["", ""]]],
  ["a\t", [["a", ""]]],
  ['"a ""b""\r\nc"\td', [['a "b"\r\nc', "d"]]],
  ['""\t"x"', [["", "x"]]],
  ['5" wide\t"never closed\nnext', [['5" wide', '"never closed'], ["next"]]],
  ['"hello" world\t"two\nlines"\n"third"\n', [['"hello" world', "two\nlines"], ["third"]]],
])(
  "a block of a spreadsheet has its cells where they were, also empty and oddly quoted ones: %j",
  (block, cells) => {
    expect(parseBlock(block)).toEqual(cells);
  },
);

it.each(["", "a", 'say "a"', '"a" b', "two\nlines", "a\tb", '"', "\n"])(
  "a cell that is copied is pasted as it was: %j",
  (text) => {
    expect(parseBlock(`${blockOf(text)}\n`)).toEqual([[text]]);
  },
);

it("reads a block of oddly quoted cells in linear time", () => {
  const started = performance.now();
  for (const cell of ['"a', '""a', '"""a', '"a""', '"\t""'])
    for (const end of ["\t", "\n", ""]) parseBlock(`"${`${cell}${end}`.repeat(100_000)}`);
  expect(performance.now() - started).toBeLessThan(5_000);
});
