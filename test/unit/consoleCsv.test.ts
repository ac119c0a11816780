import { expect, it } from "vitest";
import { csvLine } from "../../console/src/parts/csv.ts";
import { csvReader } from "../../console/src/parts/csvReader.ts";
import { createRandom } from "../support/random.ts";

function read(pieces: string[], delimiter = ",") {
  const reader = csvReader(delimiter);
  return [...pieces.flatMap((piece) => reader.read(piece)), ...reader.end()];
}

const cellsOf = (text: string, delimiter?: string) => read([text], delimiter).map(({ cells }) => cells);

it.each([
  [
    "a,b\nc,d\n",
    [
      ["a", "b"],
      ["c", "d"],
    ],
  ],
  ["a\r\nb\rc", [["a"], ["b"], ["c"]]],
  ['"a ""b"", c\r\nd",e', [['a "b", c\r\nd', "e"]]],
  ['"",,""\n', [["", null, ""]]],
  ["a,\n\nb", [["a", null], [null], ["b"]]],
  ['5" wide,ok', [['5" wide', "ok"]]],
])(
  "CSV is read by RFC 4180, and an empty cell is none where quotation marks are an empty text: %j",
  (text, cells) => {
    expect(cellsOf(text)).toEqual(cells);
  },
);

it("cells stand between the delimiter that is given", () => {
  expect(cellsOf("a;b,c\n", ";")).toEqual([["a", "b,c"]]);
});

it.each([
  ['"a" b,c\nd,e', "Something stands behind a closing quotation mark."],
  ['a,"b\nc', "A quotation mark is never closed."],
])("a record says what is wrong with its quotation marks: %j", (text, problem) => {
  expect(read([text])[0]?.problem).toBe(problem);
});

it("what is written is read again, wherever the pieces of a file end", () => {
  const random = createRandom(7);
  const sign = () => random.oneOf(["a", "é", '"', ",", ";", "\t", "\n", "\r", "\r\n", " ", ""]);
  const cell = () => random.maybe(0.8, () => random.some(4, sign).join(""));
  for (let round = 0; round < 300; round++) {
    const rows = random.some(3, () => [cell(), cell(), "end"]);
    const text = rows.map(csvLine).join("");
    const pieces: string[] = [];
    for (let at = 0; at < text.length; ) {
      const length = 1 + random.below(4);
      pieces.push(text.slice(at, at + length));
      at += length;
    }
    expect(read(pieces), JSON.stringify(pieces)).toEqual(rows.map((cells) => ({ cells, problem: null })));
  }
});
