/** A way in which an input grows. */
export interface Shape {
  name: string;
  /** A text, a value of JSON as it is written, or parts that the input itself has. */
  kind: "text" | "json" | "parts";
  /** As close to so many characters as its parts allow, never more. */
  make(size: number): string;
}

/** As many of the numbered parts as fit. */
export function repeated(size: number, part: (n: number) => string, [before, after] = ["", ""]): string {
  const parts: string[] = [before];
  let length = before.length + after.length;
  for (let n = 0; ; n++) {
    const next = part(n);
    length += next.length;
    if (length > size) break;
    parts.push(next);
  }
  return parts.join("") + after;
}

const room = (size: number, ...beside: string[]) => Math.max(0, size - beside.join("").length);
const run = (part: string, size: number) => part.repeat(Math.floor(size / part.length));

const text = (name: string, make: Shape["make"]): Shape => ({ name, kind: "text", make });
const json = (name: string, make: Shape["make"]): Shape => ({ name, kind: "json", make });
const shown = (part: string) => JSON.stringify(part);

const characters = Array.from("aTZ09 -+.,;:/\\\"'`{}[]()<>=&%_*#@$|?!~\0\n\t\ré\u0130\u0301😀");
/** Those whose runs something may look for up to the end of a text. */
const ending = Array.from('aT09 -.,:;/="\\{\n\t');
const pairs = [
  ...[
    "ab",
    "a ",
    " a",
    "0 ",
    "T+",
    "+0",
    "-0",
    "a-",
    "1.",
    "1e",
    "::",
    "//",
    '\\"',
    '" ',
    '"*',
    "%_",
    "\r\n",
  ],
  ...[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "{{a}}",
    "{{ a }}\n",
    "{% if a %}",
    "{%- a",
    "; q=",
    ";q=",
    ", ",
    ": ",
    ",,",
    "()",
  ],
  ...["a OR ", "a* ", "NEAR(", "<|", "a\n", "\nb", "𝒳a", "W/", "%20", "%ff", "%00+", "&a=", "a=a&", "; a=b"],
];
/** What a value may begin with, before it goes on as nothing does. */
const beginnings: [string, string][] = [
  ["2026-01-01T", "0"],
  ["2026-01-01T00:00:00.", "0"],
  ["2026-01-01", " "],
  ["2026-01-01T00:00:00+", "00"],
  ["Bearer ", " "],
  ["Bearer x", " "],
  ["gzip", " "],
  ["gzip;q=0.", "0"],
  ['W/"', "a"],
  ["a-", "a"],
  ["1.0.", "0"],
  ["00-0123456789abcdef0123456789abcdef-0123456789abcdef-01-", "a"],
  ["Europe/", "a"],
  ["gpt-4o-", "a"],
  ["{{ a", " "],
  ["{{ '", "\\'"],
  ["{{ a", "|a"],
  ["{{ a", ".a"],
  ["{{ a", " + a"],
  ["{% for a in ", "a"],
];
const brackets: [string, string][] = [
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
  ["<a>", "</a>"],
  ["{{", "}}"],
  ["{% if a %}", "{% endif %}"],
  ["{% for a in a %}", "{% endfor %}"],
  ["{{ (", ") }}"],
];

const nested = ([open, close]: [string, string], size: number) => {
  const levels = Math.floor(size / (open.length + close.length));
  return open.repeat(levels) + close.repeat(levels);
};

/** Texts: runs, pairs, what begins as something and goes on as nothing, brackets within each other, lines and words. */
const textShapes: Shape[] = [
  ...characters.map((one) => text(`a run of ${shown(one)}`, (size) => run(one, size))),
  ...ending.map((one) => text(`a run of ${shown(one)}, then x`, (size) => `${run(one, size - 1)}x`)),
  ...pairs.map((pair) => text(`a run of ${shown(pair)}`, (size) => run(pair, size))),
  ...beginnings.map(([begin, more]) =>
    text(
      `${shown(begin)}, then a run of ${shown(more)}, then !`,
      (size) => `${begin}${run(more, room(size, begin, "!"))}!`,
    ),
  ),
  ...brackets.map((pair) => text(`${shown(pair[0])} within each other`, (size) => nested(pair, size))),
  text("words that differ", (size) => repeated(size, (n) => `w${n} `)),
  text("lines that differ", (size) => repeated(size, (n) => `line ${n}\n`)),
  text("lists that differ", (size) => repeated(size, (n) => `a${n},`)),
  text("expressions that differ", (size) => repeated(size, (n) => `{{ v${n} }}`)),
];

/** V8 hashes texts that are longer than 16,383 characters by their length alone. */
const alike = (n: number) => `"${"a".repeat(16_384)}${String(n).padStart(6, "0")}"`;
const pairOf = (n: number) => `"k${n}":0,`;
const wrapped = (open: string, inner: string, close: string) => (size: number) => {
  const levels = Math.floor((size - inner.length) / (open.length + close.length));
  return open.repeat(levels) + inner + close.repeat(levels);
};
const within = (open: string, part: (n: number) => string, last: string) => (size: number) =>
  repeated(size, part, [open, last]);

/** Values of JSON: levels, elements, keys, numbers and escapes without end. */
const jsonShapes: Shape[] = [
  json("lists within each other", wrapped("[", "0", "]")),
  json("objects within each other", wrapped('{"a":', "0", "}")),
  json("both within each other", wrapped('[{"a":', "0", "}]")),
  json("levels that do not end", (size) => run('[{"a":', size)),
  json(
    "a list of numbers",
    within("[", () => "0,", "0]"),
  ),
  json(
    "a list of numbers with one too long",
    within("[", () => "0,", "1234567890123456]"),
  ),
  json(
    "a list of long numbers",
    within("[", () => "1234567890123456,", "1]"),
  ),
  json(
    "a list of texts",
    within("[", () => '"a",', '"a"]'),
  ),
  json(
    "a list of texts that differ",
    within("[", (n) => `"${n}",`, '"a"]'),
  ),
  json(
    "a list of nothings",
    within("[", () => "null,", "null]"),
  ),
  json(
    "a list of lists",
    within("[", () => "[],", "[]]"),
  ),
  json(
    "a list of objects",
    within("[", () => "{},", "{}]"),
  ),
  json(
    "a list of objects with names",
    within("[", (n) => `{"name":"n${n}","label":"l${n}","column":"c${n}"},`, "{}]"),
  ),
  json("keys that differ", within("{", pairOf, '"k":0}')),
  json(
    "keys that are numbers",
    within("{", (n) => `"${n * 7_919}":0,`, '"k":0}'),
  ),
  json(
    "one key again and again",
    within("{", () => '"a":0,', '"a":0}'),
  ),
  json(
    "one key of an object again and again",
    within("{", () => '"a":{"b":0},', '"a":0}'),
  ),
  json(
    "long keys with one hash",
    within("{", (n) => `${alike(n)}:0,`, '"k":0}'),
  ),
  json(
    "long texts with one hash",
    within("[", (n) => `${alike(n)},`, '"a"]'),
  ),
  json("a long key", (size) => `{"${run("a", room(size, '{"":0}'))}":0}`),
  json("digits", (size) => run("1", size)),
  json("digits after the point", (size) => `0.${run("1", size - 2)}`),
  json("noughts after the point", (size) => `1.${run("0", size - 2)}`),
  json("an exponent", (size) => `1e-${run("0", size - 4)}1`),
  json("a minus and noughts", (size) => `-${run("0", size - 1)}`),
  json("escapes", (size) => `"${run("\\u0061", size - 2)}"`),
  json("halves of pairs", (size) => `"${run("\\ud800", size - 2)}"`),
  json("backslashes", (size) => `"${run("\\\\", size - 2)}"`),
  json("blanks", (size) => `${run(" ", size - 1)}1`),
  json("a text that does not end", (size) => `"${run("a", size - 1)}`),
  json(
    "a list that ends wrong",
    within("[", () => "0,", "x"),
  ),
];

/** For what grows by parts of its own. */
const ownParts: Shape = { name: "its parts", kind: "parts", make: () => "" };
const ANSWER = "its own answer";
const WORDS = "the words of its own answer";
const ofAnswer = [ANSWER, WORDS].map((name) => text(name, () => ""));

export const shapes: Shape[] = [...textShapes, ...jsonShapes, ...ofAnswer, ownParts];

/** The shape itself, or where it is about the answer, one of what that says: repeated, it meets what looks for its parts. */
export async function learned(shape: Shape, answerTo: (small: Shape) => Promise<string>): Promise<Shape> {
  if (shape.name !== ANSWER && shape.name !== WORDS) return shape;
  const answer = await answerTo(text("one letter", () => "a"));
  const message = /"(?:message|error)":"((?:[^"\\]|\\.){1,200})/.exec(answer)?.[1] ?? "nothing";
  const said = shape.name === ANSWER ? message : message.replace(/[^\w ]/g, "");
  return { ...shape, make: (size) => run(`${said} `, size) };
}
