import fc from "fast-check";

export type Kept = Record<string, unknown>;

// What is either refused or kept as it was sent: members whose empty text means that they are absent are never empty.

// Nearly all of them can be kept: a single text that cannot has the whole of a case refused.
const character = fc
  .integer({ min: 1, max: 0x10ffff })
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map((code) => String.fromCodePoint(code));
const halfOfPair = fc.integer({ min: 0xd800, max: 0xdfff }).map((code) => String.fromCharCode(code));
const oddTexts = ["__proto__", "\0", "\ufeffx", "x ", "1e999", "\r\n", "\u2028", "null", "<|endoftext|>"];
const anyText = fc.oneof(
  { weight: 60, arbitrary: fc.string({ unit: character }) },
  { weight: 20, arbitrary: fc.string({ unit: "grapheme", maxLength: 2_000 }) },
  { weight: 4, arbitrary: fc.constantFrom(...oddTexts) },
  { weight: 1, arbitrary: fc.string({ unit: halfOfPair, maxLength: 2 }) },
);
const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0), // JSON has no -0
  fc.maxSafeInteger(),
  fc.constantFrom(0.1 + 0.2, 5e-324, 1.7976931348623157e308, 2 ** 53, 1e21, 1e-7),
);
const anyJson: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown; object: Kept }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    anyText,
    numbers,
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 6 }),
    tie("object"),
  ),
  object: fc.dictionary(anyText, tie("value"), { maxKeys: 6, noNullPrototype: true }),
})).value;
const anyObject = fc.dictionary(anyText, anyJson, { maxKeys: 5, noNullPrototype: true });
const nested = fc
  .tuple(fc.integer({ min: 1, max: 102 }), fc.boolean())
  .map(([levels, isList]) =>
    Array.from({ length: levels }).reduce<unknown>((inner) => (isList ? [inner] : { a: inner }), 1),
  );
const json = fc.oneof({ weight: 20, arbitrary: anyJson }, { weight: 1, arbitrary: nested });

const PLAIN = { noNullPrototype: true };
export const logs = fc.record({
  output: json.filter((value) => value !== null),
  input: json,
  idealOutput: json,
  metadata: anyObject,
  variables: fc.array(fc.record({ label: anyText, value: fc.option(anyText) }, PLAIN), { maxLength: 4 }),
  cost: fc.double({ noNaN: true, min: 0, max: 1e9 }).map((number) => number + 0),
  inputTokens: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
  startTime: fc
    .date({
      noInvalidDate: true,
      min: new Date("0001-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59.999Z"),
    })
    .map((moment) => moment.toISOString()),
  name: anyText.filter((name) => name !== ""),
  user: fc.record({ id: anyText.filter((id) => id !== ""), name: fc.option(anyText) }, PLAIN),
});
export const rows = fc.record({
  values: fc.record({ a: json, "b c": json }, { requiredKeys: [], noNullPrototype: true }),
  idealOutput: fc.option(anyText),
  metadata: fc.option(anyObject),
});
// Braces would have a meaning in it.
const template = anyText.map((text) => `${text.replaceAll(/[{}]/g, "")}.`);
export const versions = fc.record({
  text: template,
  systemText: fc.option(template),
  model: fc.record(
    {
      model: anyText.filter((text) => text !== ""),
      provider: fc.option(anyText),
      parameters: anyObject,
    },
    PLAIN,
  ),
});
