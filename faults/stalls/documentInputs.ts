import { callers, fillJson, headersOf, here, type Input, MAX_BODY_BYTES, maxCpuMs } from "./inputs.ts";
import { repeated, type Shape } from "./shapes.ts";

/** A document that grows by whole parts, whatever the shape. */
type Document = [name: string, make: (size: number) => string];

const list = (before: string, part: (n: number) => string, after: string) => (size: number) =>
  repeated(size, part, [before, after]);
const nested =
  (before: string, open: string, inner: string, close: string, after: string) => (size: number) => {
    const levels = Math.max(
      0,
      Math.floor((size - before.length - after.length) / (open.length + close.length)),
    );
    return before + open.repeat(levels) + inner + close.repeat(levels) + after;
  };
const PROMPTS = "prompts { slug }";
const spreads = (n: number) =>
  Array.from({ length: Math.min(n, 20) }, (_, at) => `...F${n - 1 - at}`).join(" ");

/** More have too many pairs of the same name. */
const MAX_EQUAL = 140;
/** Equal fields, which graphql-js merges, each with as many equal ones in it. */
const merged = (size: number) => {
  const parts = ["rows(first: 0) { ...R } ", "nodes { ...N } ", "id name key "];
  const times = Math.floor((size - 120) / parts.join("").length);
  const [rows, nodes, ids] = parts.map((part) => part.repeat(Math.min(Math.max(1, times), MAX_EQUAL)));
  return `{ dataset(slug: "own-dataset") { ${rows} } } fragment R on DatasetRowConnection { ${nodes} } fragment N on DatasetRow { ${ids} }`;
};
const mergedSchema = (size: number) => {
  const spread = "__schema { ...S } ".repeat(Math.min(Math.ceil(size / 40), 2 * MAX_EQUAL));
  return `{ ${spread} } fragment S on __Schema { types { ${"fields { type { kind } } ".repeat(20)} } }`;
};

const FAILING = `{ ${Array.from({ length: 29 }, (_, n) => `a${n}: renderPrompt(slug: "none") { text }`).join(" ")} }`;

/** What a document may have any number of. */
const documents: Document[] = [
  ["one unknown field", list("{ ", () => "x ", "}")],
  ["line breaks before unknown fields", list("", () => "\n", "{ a b c d e }")],
  ["comments before unknown fields", list("", () => "#\n", "{ a b c d e }")],
  ["line breaks before fields that fail", list("", () => "\n", FAILING)],
  ["unknown fields", list("{ ", (n) => `x${n} `, "}")],
  ["unknown fields, nearly known", list("{ ", (n) => `prompts${n} `, "}")],
  ["one field", list("{ ", () => "__typename ", "}")],
  ["one field with fields", list("{ ", () => `${PROMPTS} `, "}")],
  ["aliases", list("{ ", (n) => `a${n}: __typename `, "}")],
  ["aliases of fields with fields", list("{ ", (n) => `a${n}: ${PROMPTS} `, "}")],
  ["one alias of two fields", list("{ ", (n) => `a: ${n % 2 ? "prompts" : "datasets"} { slug } `, "}")],
  ["one field with arguments that differ", list("{ ", (n) => `prompts(first: ${n}) { slug } `, "}")],
  ["one alias of inner fields", list("{ prompts { ", (n) => `a: ${n % 2 ? "slug" : "name"} `, "} }")],
  ["one field within one field", list("{ ", () => "prompts { versions { nodes { text } } } ", "}")],
  ["equal fields within equal fields", merged],
  ["equal fields of its own schema", mergedSchema],
  ["an argument again and again", list("{ prompts(", () => "first: 1 ", ") { nodes { slug } } }")],
  ["unknown arguments", list("{ prompts(", (n) => `x${n}: 1 `, ") { nodes { slug } } }")],
  ["a directive", list("{ __typename ", () => "@skip(if: false) ", "}")],
  ["directives that are unknown", list("{ __typename ", (n) => `@x${n} `, "}")],
  ["fields within each other", nested("", "{ prompt ", "", "}", "")],
  ["known fields within each other", nested("{ logs ", "{ trace { logs ", "{ id }", "} } ", "}")],
  ["fragments without names within each other", nested("{ ", "... { ", "__typename", " }", " }")],
  ["fragments without names", list("{ ", () => "... { __typename } ", "}")],
  ["fragments", list("{ ...F0 } ", (n) => `fragment F${n} on Query { ...F${n + 1} } `, "")],
  [
    "fragments that nothing uses",
    list("{ __typename } ", (n) => `fragment F${n} on Query { __typename } `, ""),
  ],
  [
    "fragments that each use all before",
    list("{ __typename } ", (n) => `fragment F${n} on Query { __typename ${spreads(n)} } `, ""),
  ],
  [
    "fragments that use the next twice",
    list("{ ...F0 } ", (n) => `fragment F${n} on Query { ...F${n + 1} a: ...F${n + 1} } `, ""),
  ],
  [
    "fragments in a circle",
    list("{ ...F0 } fragment F0 on Query { ...F1 } fragment F1 on Query { ...F0 } ", () => "{ ...F0 } ", ""),
  ],
  ["one fragment again and again", list("fragment F on Query { __typename } { ", () => "...F ", "}")],
  ["fragments that are unknown", list("{ ", (n) => `...X${n} `, "}")],
  [
    "fragments that overlap",
    list("{ ", (n) => `... on Query { a: prompts(first: ${n}) { nodes { slug } } } `, "}"),
  ],
  ["one fragment's name again and again", list("{ ...F } ", () => "fragment F on Query { __typename } ", "")],
  ["operations", list("", (n) => `query A${n} { __typename } `, "")],
  ["operations without names", list("", () => "{ __typename } ", "")],
  ["variables", list("query (", (n) => `$v${n}: Int `, ") { __typename }")],
  ["variables of unknown types", list("query (", (n) => `$v${n}: X${n} `, ") { __typename }")],
  ["one variable again and again", list("query (", () => "$v: Int ", ") { __typename }")],
  [
    "variables that are not declared",
    list("{ prompts(search: [", (n) => `$v${n} `, "]) { nodes { slug } } }"),
  ],
  ["types within each other", nested("query ($v: ", "[", "Int", "]", ") { __typename }")],
  ["lists within each other", nested("{ prompts(first: ", "[", "1", "]", ") { nodes { slug } } }")],
  ["objects within each other", nested("{ prompts(first: ", "{a:", "1", "}", ") { nodes { slug } } }")],
  ["a list of numbers", list("{ prompts(first: [", () => "1 ", "]) { nodes { slug } } }")],
  ["an object with keys", list("{ prompts(first: {", (n) => `k${n}: 1 `, "}) { nodes { slug } } }")],
  ["an object with one key", list("{ prompts(first: {", () => "k: 1 ", "}) { nodes { slug } } }")],
  [
    "keys of an input",
    list('mutation { logPrompt(input: {slug: "x" ', (n) => `k${n}: 1 `, "}) { warning } }"),
  ],
  [
    "keys of JSON",
    list(
      'mutation { logPrompt(input: {slug: "x", output: 1, metadata: {',
      (n) => `k${n}: 1 `,
      "}}) { warning } }",
    ),
  ],
  ["comments", list("{ __typename } ", () => "#\n", "")],
  ["types that are defined", list("{ __typename } ", (n) => `type T${n} { a: Int } `, "")],
  [
    "lines of a block",
    list('{ prompts(search: """', (n) => `${" ".repeat(n % 9)}a\n`, '""") { nodes { slug } } }'),
  ],
  ["its own schema", list("{ __schema { types { ", () => "fields { name type { name } } ", "} } }")],
  [
    "its own schema, deep",
    nested("{ __schema { types { fields { type ", "{ ofType ", "{ name }", "} ", "} } } }"),
  ],
];

/** Where a document may hold a text of any shape. */
const places: [string, string, string][] = [
  ["all of it", "", ""],
  ["a selection", "{ ", " }"],
  ["a comment", "# ", "\n{ __typename }"],
  ["the name of an operation", "query ", " { __typename }"],
  ["the name of a field", "{ a", " }"],
  ["a fragment's name", "{ ...F", " }"],
  ["a directive", "{ __typename @", " }"],
  ["the name of a variable", "query ($a", ": Int) { __typename }"],
  ["the type of a variable", "query ($a: ", ") { __typename }"],
  ["an argument", "{ prompts(a", ": 1) { nodes { slug } } }"],
  ["a value", "{ prompts(first: ", ") { nodes { slug } } }"],
  ["a number", "{ prompts(first: 1", ") { nodes { slug } } }"],
  ["a text", '{ prompts(search: "', '") { nodes { slug } } }'],
  ["a text for a number", '{ prompts(first: "', '") { nodes { slug } } }'],
  ["a text for a time", '{ usage(from: "', '", groupBy: DAY) { nodes { key } } }'],
  ["a text for one of a few", '{ usage(groupBy: "', '") { nodes { key } } }'],
  ["a text for an input", '{ logs(filter: "', '") { nodes { id } } }'],
  ["a text for JSON", 'mutation { logPrompt(input: {slug: "x", output: "', '"}) { warning } }'],
  [
    "a text for an object",
    'mutation { logPrompt(input: {slug: "x", output: 1, metadata: "',
    '"}) { warning } }',
  ],
  ["a block", '{ prompts(search: """', '""") { nodes { slug } } }'],
  ["after all", "{ __typename } ", ""],
];

/** Documents that grow by what a document can have any number of, and by texts at each of its places. */
export function documentInputs(): Input[] {
  const ofParts = documents.map(([name, make]) => {
    const only: Shape = { name, kind: "text", make };
    return { name, area: "parts of documents", kinds: ["parts"] as const, shapeOf: () => only };
  });
  const ofTexts = places.map(([name, before, after]) => ({
    name,
    area: "texts of documents",
    kinds: ["text"] as const,
    shapeOf: (shape: Shape): Shape => ({
      ...shape,
      make: (size) => before + shape.make(Math.max(0, size - before.length - after.length)) + after,
    }),
  }));
  const fill = fillJson({ query: here });
  return [...ofParts, ...ofTexts].flatMap(({ name, area, kinds, shapeOf }) =>
    callers.map(
      (caller): Input => ({
        name: `document: ${name}, ${caller}`,
        area,
        limit: MAX_BODY_BYTES,
        maxCpuMs: maxCpuMs(caller),
        kinds,
        fill: (shape, size, n) => ({
          ...{ method: "POST", path: "/graphql", headers: headersOf(caller) },
          // Each is another document, as what was made of one before is kept.
          body: fill(numbered(shapeOf(shape), n), size, n),
        }),
      }),
    ),
  );
}

const numbered = (shape: Shape, n: number): Shape => ({
  ...shape,
  make: (size) => `#${n}\n${shape.make(size)}`,
});
