import { afterAll, expect, test } from "vitest";
import { toCursor } from "../../src/validation/pagination.ts";
import { addDataset, addPrompt } from "../support/data.ts";
import { startServer } from "../support/server.ts";

// What databases differ in when nobody takes care: the order of letters, their case, and what a word is.

const server = await startServer();
afterAll(() => server[Symbol.asyncDispose]());

/** Bytes in UTF-8, the order that lists have on every database. */
const inOrder = (names: string[]) => names.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));

test("slugs are listed in the order of their bytes, page by page", async () => {
  await using own = await startServer();
  const slugs = ["a", "a-b", "a0", "a_b", "ab", "b", "b-1", "b1", "b_1", "z", "10", "9"];
  for (const slug of slugs) {
    await addDataset(own, { slug, columns: [] });
    await addPrompt(own, { slug });
  }
  for (const list of ["datasets", "prompts"]) {
    const query = `query($a: String) { ${list}(first: 5, after: $a) { nodes { slug } } }`;
    const paged: string[] = [];
    for (let after: string | undefined; ; after = toCursor(paged.at(-1)!)) {
      const page: { slug: string }[] = await own.run(query, { a: after });
      paged.push(...page.map(({ slug }) => slug));
      if (page.length < 5) break;
    }
    expect(paged).toEqual(inOrder(slugs));
  }
});

test("tags are listed in the order of their bytes, and tags that differ in case or accent are different ones", async () => {
  const labels = ["b", "B", "a-1", "a_1", "a1", "A", "ä", "a\u0308", "é", "Z", "ß", "ss", "😀", "ｚ"];
  const tags = Object.fromEntries(labels.map((label) => [label, "1"]));
  await addPrompt(server, { slug: "tagged", versions: [{ version: "1" }], tags });
  const { tags: listed } = await server.run('{ prompt(slug: "tagged") { tags { label } } }');
  expect(listed.map(({ label }: { label: string }) => label)).toEqual(inOrder(labels));
  const missing = await server.run('{ describePrompt(slug: "tagged", tag: "É") { warning } }');
  expect(missing.warning).toContain("É");
});

test.each([
  ["LETTERS", ["Big Letters"]],
  ["ärger", ["Kein ärger"]],
  ["100%", ["100% sure"]],
  ["_", ["under_score"]],
  ["\\", ["back\\slash"]],
  ["'", ["it's"]],
  ["", ["Big Letters", "Kein ärger", "Kein ÄRGER", "100% sure", "under_score", "back\\slash", "it's"]],
])(
  "searching names for %j finds those that have it, in any case of A to Z and no other letters",
  async (search, found) => {
    const names = [
      "Big Letters",
      "Kein ärger",
      "Kein ÄRGER",
      "100% sure",
      "under_score",
      "back\\slash",
      "it's",
    ];
    const slug = (at: number) => `named-${at}`;
    for (const [at, name] of names.entries())
      if ((await server.get(`/datasets/${slug(at)}`)).status === 404)
        await addDataset(server, { slug: slug(at), name, columns: [] });
    const listed: { slug: string; name: string }[] = await server.run(
      "query($s: String) { datasets(search: $s, first: 100) { nodes { slug name } } }",
      { s: search },
    );
    const own = listed.filter((dataset) => dataset.slug.startsWith("named-")).map(({ name }) => name);
    expect(own.toSorted()).toEqual(found.toSorted());
  },
);

const texts = {
  greek: "ΟΔΟΣ και οδος",
  german: "Straße GROẞ Äpfel",
  decomposed: "a\u0308rger cafe\u0301",
  turkish: "DIYARBAKIR ılık",
  numbers: "3.14 1e5 v2beta 12abc ½ ²",
  scripts: "日本語 العربية ไทย हिन्दी",
  signs: "foo_bar foo-bar e-mail@example.com C++ don't",
  long: `${"word ".repeat(400)} capital ${"the ".repeat(400)} kenya the end`,
  across: ["first", "second", { a: "third", b: ["fourth"] }],
  number: { n: 42, half: 0.5, none: null, yes: true },
};

test.each<[string, string[]]>([
  ["οδοσ", ["greek"]],
  ["ΟΔΟΣ", ["greek"]],
  ["οδος", ["greek"]],
  ["straße", ["german"]],
  ["strasse", []],
  ["STRASSE", []],
  ["groß", ["german"]],
  ["apfel", []],
  ["ÄPFEL", ["german"]],
  ["ärger", []],
  ["a\u0308rger", ["decomposed"]],
  ["arger", []],
  ["cafe", []],
  ["cafe\u0301", ["decomposed"]],
  ["diyarbakir", ["turkish"]],
  ["ilik", []],
  ["14", ["numbers"]],
  ["1e5", ["numbers"]],
  ["v2", []],
  ["v2*", ["numbers"]],
  ["12abc", ["numbers"]],
  ["½", ["numbers"]],
  ["日本語", ["scripts"]],
  ["日本*", ["scripts"]],
  ["العربية", ["scripts"]],
  ["हिन्दी", ["scripts"]],
  ["foo bar", ["signs"]],
  ["foo-bar", ["signs"]],
  ['"bar foo"', ["signs"]],
  ['"foo example"', []],
  ["e-mail@example.com", ["signs"]],
  ["don't", ["signs"]],
  ["dont", []],
  ["c++", ["signs"]],
  ['"kenya the end"', ["long"]],
  ['"the kenya"', ["long"]],
  ['"capital kenya"', []],
  ['"first second third fourth"', ["across"]],
  ["true", []],
  ["42", ["number"]],
  ["end*", ["long"]],
  ["n", []],
])("the words %s are found in the same texts on every database", async (text, found) => {
  const query =
    'query($t: String) { logs(filter: {text: $t, slug: "words"}, first: 100) { nodes { trace { name } } } }';
  if ((await server.run(query, { t: "capital" })).length === 0)
    for (const [name, output] of Object.entries(texts))
      await server.post("/monitor/log", { slug: "words", name, output, inputTokens: 1, outputTokens: 1 });
  const logs: { trace: { name: string } }[] = await server.run(query, { t: text });
  expect(logs.map(({ trace }) => trace.name).toReversed()).toEqual(found);
});
