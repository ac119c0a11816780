import fc from "fast-check";

/** What fast-check draws for one case; the case is built out of it, choice by choice, so that it can be made smaller. */
export interface Material {
  below(end: number): number;
  chance(share: number): boolean;
  oneOf<Value>(values: readonly Value[]): Value;
  /** Up to `max` things, often fewer. */
  some<Value>(max: number, make: () => Value): Value[];
  text(): string;
  json(): unknown;
}

const MIN_CHOICES = 60;
const MAX_CHOICES = 240;

/** Any code point, those of halves of surrogate pairs among them, which are no characters. */
const anyUnit = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));
const texts = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: anyUnit, maxLength: 10 }),
  fc.string({
    unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    maxLength: 4,
  }),
);

/** Material without end: once the choices are used up, each is the first. */
export const materials: fc.Arbitrary<Material> = fc
  .tuple(
    fc.noBias(fc.uint16Array({ minLength: MIN_CHOICES, maxLength: MAX_CHOICES })),
    fc.array(texts, { minLength: 1, maxLength: 3 }),
    fc.array(fc.json({ maxDepth: 3, stringUnit: anyUnit }), { minLength: 1, maxLength: 2 }),
  )
  .map(([choices, drawnTexts, values]) => materialOf(choices, drawnTexts, values));

function materialOf(choices: Uint16Array, drawnTexts: string[], values: string[]): Material {
  let next = 0;
  const below = (end: number) => Math.floor(((choices[next++] ?? 0) / 0x10000) * end);
  const oneOf = <Value>(among: readonly Value[]): Value => among[below(among.length)]!;
  return {
    below,
    oneOf,
    chance: (share) => below(1_000) >= 1_000 * (1 - share),
    some: (max, make) => Array.from({ length: below(max + 1) }, make),
    text: () => oneOf(drawnTexts),
    json: () => JSON.parse(oneOf(values)),
  };
}

const deep = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));
const deepObject = (levels: number): unknown => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);

/** Texts that have been the end of programs. */
const oddTexts = [
  "",
  " ",
  "\0",
  "a\0b",
  "\ud800",
  "\udc00\ud800",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "null",
  "undefined",
  "NaN",
  "-1",
  "1e999",
  "0x10",
  "'",
  '"',
  "`",
  "\\",
  "'; drop table logs; --",
  "%",
  "_",
  "*",
  "$1",
  ":slug",
  "?",
  "..",
  "../../etc/passwd",
  "a/b",
  "%2f",
  "\r\nX-Other: 1",
  "\u2028",
  "\u202e",
  "\ufeff",
  "\ufffd",
  "🦆",
  "👩‍👩‍👧",
  "e\u0301",
  "İ",
  "ß",
  "{{ x }}",
  "{% for a in b %}",
  "{{",
  "{# x",
  "{{ x|tojson }}{% set x = x %}",
  '"open',
  '"" *',
  "AND OR NOT NEAR(",
  "<script>",
  "2026-02-30",
  "2026-01-31T09:30:00+99:99",
  "0000-00-00",
  "+275760-09-13T00:00:00.001Z",
  "9999-12-31T23:59:59.999Z",
  "00000000-0000-0000-0000-000000000000",
  "Europe/Berlin",
  "Etc/Nowhere",
  "x".repeat(300),
  "é".repeat(9_000),
  "a ".repeat(6_000),
];

export const oddText = (material: Material): string =>
  material.chance(0.4) ? material.text() : material.oneOf(oddTexts);

const oddValues: (() => unknown)[] = [
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 0.1,
  () => 1e308,
  () => -5e-324,
  () => 2 ** 31,
  () => -(2 ** 31) - 1,
  () => 2 ** 53,
  () => 8.64e15 + 1,
  () => [],
  () => ({}),
  () => [null],
  () => [[[]]],
  () => ({ id: null }),
  () => ({ $ne: null }),
  () => JSON.parse('{"__proto__":{"polluted":true}}'),
  () => ({ constructor: { prototype: { polluted: true } } }),
  () => JSON.parse('{"toString":1,"valueOf":1,"toJSON":1,"then":1,"length":-1}'),
  () => ({ "": "", "\0": 1 }),
  () => ({ "\ud800": 1 }),
  () => Array(1_001).fill({}),
  () => Array(3_000).fill(0),
  () => deep(99),
  () => deep(101),
  () => deep(600),
  () => deepObject(100),
  () => deepObject(500),
];

export const oddValue = (material: Material): unknown => {
  if (material.chance(0.3)) return oddText(material);
  return material.chance(0.3) ? material.json() : material.oneOf(oddValues)();
};
