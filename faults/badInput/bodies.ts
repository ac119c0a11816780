import { gzipSync } from "node:zlib";
import { type Material, oddValue } from "./material.ts";

/** Changes a JSON value at random places: wrong types, members that are missing, doubled or too many. */
export function spoilValue(material: Material, value: unknown): unknown {
  const holder = { value };
  for (let changes = 1 + material.below(3); changes > 0; changes--) {
    const places = placesIn(holder);
    const [within, key] = material.oneOf(places);
    const inner = within[key];
    const kind = material.below(5);
    if (kind === 0 && within !== holder) delete within[key];
    else if (kind === 1) within[key] = [inner];
    else if (kind === 2 && isObject(inner)) define(inner, oddKey(material), oddValue(material));
    else within[key] = oddValue(material);
  }
  return holder.value;
}

type Holder = Record<string, unknown>;

const MAX_PLACES = 200;

function placesIn(holder: Holder): [Holder, string][] {
  const places: [Holder, string][] = [];
  const waiting = [holder];
  for (let within = waiting.shift(); within && places.length < MAX_PLACES; within = waiting.shift()) {
    for (const key of Object.keys(within).slice(0, MAX_PLACES)) {
      places.push([within, key]);
      const inner = within[key];
      if (typeof inner === "object" && inner !== null) waiting.push(inner as Holder);
    }
  }
  return places;
}

const oddKey = (material: Material) =>
  material.oneOf(["__proto__", "constructor", "", "isPlayground", "\0", "\ud800", "toJSON", material.text()]);

function define(value: Holder, key: string, member: unknown): void {
  Object.defineProperty(value, key, { value: member, enumerable: true, writable: true, configurable: true });
}

const isObject = (value: unknown): value is Holder =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const numbers = [
  "1e999",
  "-1e999",
  "-0",
  "1E+2",
  "01",
  "+1",
  ".5",
  "1.",
  "0x1",
  "NaN",
  "12345678901234567890",
  "9".repeat(400),
];
const junk = [
  "\0",
  "\u0001",
  "//",
  "/* */",
  ",",
  ":",
  "}",
  "]",
  '"',
  "\\",
  "\\u00",
  "\\ud800",
  "\ufeff",
  "'",
  "undefined",
];
const badBytes = [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf8, 0x88], [0xc0, 0x80], [0]];
const nested = [129, 500, 20_000];
const brackets = [
  ["[", "]"],
  ['{"a":', "}"],
] as const;

/** Each spoils the text of a body in a way that no value can be written. */
const spoils: ((material: Material, text: string) => string | Buffer)[] = [
  (material, text) => text.slice(0, material.below(text.length)),
  (material, text) => inserted(material, text, material.oneOf(junk)),
  (material, text) =>
    text.replace(/(?<=[:[,])(?:-?\d[\d.e+-]*|null|true|\[\]|\{\})/, () => material.oneOf(numbers)),
  (material, text) =>
    text.replace(
      /("(?:[^"\\]|\\.)*":)/,
      (member) => `${member}${material.oneOf(["1", "null", '"x"', "{}"])},${member}`,
    ),
  (_, text) => text.replace("{", '{"__proto__":{"polluted":1},'),
  (_, text) => text.replace(/}$/, ",}"),
  (material, text) => {
    const [open, close] = material.oneOf(brackets);
    const levels = material.oneOf(nested);
    return text.replace(/}$/, `,"deep":${open.repeat(levels)}1${close.repeat(levels)}}`);
  },
  (material) => material.oneOf(brackets)[0].repeat(material.oneOf(nested)),
  (material, text) => inserted(material, Buffer.from(text), Buffer.from(material.oneOf(badBytes))),
  (_, text) => `\ufeff${text}`,
  (_, text) => Buffer.from(text, "utf16le"),
  (_, text) => Buffer.from(text.replace("a", "\xe4"), "latin1"),
  (_, text) => gzipSync(text),
  () => bomb,
  (material) => material.oneOf(["", " ", "null", "1", '""', "[]", "[{}]", "{", "undefined", "{}{}", "\0"]),
];

const bomb = gzipSync(Buffer.alloc(4_000_000, " "));

/** The body as it is sent: nearly always JSON. */
export function bodyOf(material: Material, value: unknown): Buffer {
  // A text in JSON may have every character escaped, and then halves of surrogate pairs can be written.
  const text = JSON.stringify(value) ?? "";
  return Buffer.from((material.chance(0.1) ? material.oneOf(spoils)(material, text) : text) as string);
}

function inserted<Text extends string | Buffer>(material: Material, text: Text, more: Text): Text {
  const at = material.below(text.length + 1);
  if (typeof text === "string") return (text.slice(0, at) + more + text.slice(at)) as Text;
  return Buffer.concat([text.subarray(0, at), more as Buffer, text.subarray(at)]) as Text;
}
