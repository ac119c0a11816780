import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Template } from "@huggingface/jinja";
import { applyPatch, parsePatch } from "diff";
import { describe, expect, test } from "vitest";
import { diffVersions, type VersionText } from "../../src/prompts/diff.ts";
import type { Model } from "../../src/prompts/entities.ts";
import { compareVariables, mergeVariables } from "../../src/prompts/variables.ts";
import { findVariables, parseTemplate, renderTemplates } from "../../src/templates/templates.ts";
import { warningText } from "../../src/warnings.ts";

const MEGABYTE = 1_000_000;
const FOR_EVER = `${"{% for i in range(1000) %}".repeat(5)}${"{% endfor %}".repeat(5)}`;

/** The same whole numbers below a bound in each run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const variablesIn = (text: string) => parseTemplate({ path: "text", text });
const rendered = async (text: string, values: Record<string, string>, workspace = "ours") =>
  (await renderTemplates(workspace, [{ path: "text", text }], values)).results[0];

function refusal(text: string): string {
  try {
    parseTemplate({ path: "systemText", text });
  } catch (error) {
    return (error as Error).message.replace("Invalid input: systemText is not a valid template", "");
  }
  throw new Error("It was not refused.");
}

describe("the variables of a template", () => {
  test.each<[string, string, string[]]>([
    ["none, in plain text", "Hello { name } %", []],
    ["in order of first appearance, each once", "{{ b }}{{ a }}{{ b }}", ["b", "a"]],
    ["the thing, not its attribute", "{{ user.name }}{{ list[at].x }}", ["user", "list", "at"]],
    ["a tested one", "{% if x is defined %}y{% endif %}", ["x"]],
    ["of each branch", "{% if a %}{{ b }}{% elif c %}{{ d }}{% else %}{{ e }}{% endif %}", [..."abcde"]],
    ["of a choice, as written", "{{ a if b else c }}", ["a", "b", "c"]],
    ["beside operators", "{{ a and not b or c in d ~ -e }}", [..."abcde"]],
    ["of arguments, not their names", "{{ f(a, k=b, *c, **d) | join(e) | upper }}", ["f", ..."abcde"]],
    ["of literals", "{{ [a, {'k': b, c: (d, e)}] }}{{ x[a:f] }}", [..."abcdexf"]],
    [
      "no loop variable inside its loop",
      "{% for i, j in xs %}{{ i }}{{ j }}{{ loop.index }}{% endfor %}",
      ["xs"],
    ],
    [
      "a loop variable behind its loop",
      "{% for i in xs %}{% else %}{{ j }}{% endfor %}{{ i }}",
      ["xs", "j", "i"],
    ],
    ["of a filtered loop", "{% for i in xs if i > a %}{{ i }}{% endfor %}", ["xs", "a"]],
    ["loop outside a loop", "{{ loop }}", ["loop"]],
    ["none that is set before", "{% set a = b %}{{ a }}{% set c %}{{ d }}{% endset %}{{ c }}", ["b", "d"]],
    ["one that is set after", "{{ a }}{% set a = 1 %}", ["a"]],
    ["set in a loop only", "{% for i in [1] %}{% set a = i %}{{ a }}{% endfor %}{{ a }}", ["a"]],
    ["set in one branch only", "{% if c %}{% set a = 1 %}{{ a }}{% endif %}{{ a }}", ["c", "a"]],
    [
      "none set in all branches",
      "{% if c %}{% set a = 1 %}{% else %}{% set a = 2 %}{% endif %}{{ a }}",
      ["c"],
    ],
    [
      "of a namespace",
      "{% set ns = namespace(n=a) %}{% set ns.n = b %}{{ ns.n }}{% set o.n = 1 %}",
      ["a", "b", "o"],
    ],
    [
      "no macro nor its parameters",
      "{% macro m(a, b=c) %}{{ a }}{{ b }}{{ d }}{% endmacro %}{{ m(e) }}",
      [..."cde"],
    ],
    [
      "no macro or setting below",
      "{% macro m() %}{{ n() }}{{ s }}{% endmacro %}{% macro n() %}{% endmacro %}{% set s = 1 %}{{ m() }}",
      [],
    ],
    [
      "of call blocks",
      "{% macro m() %}{{ caller(1) }}{% endmacro %}{% call(a) m() %}{{ a }}{{ b }}{% endcall %}",
      ["b"],
    ],
    ["of filter blocks", "{% filter replace(a, 'x') %}{{ b }}{% endfilter %}", ["a", "b"]],
    [
      "no built-in",
      "{{ range(1) }}{{ true }}{{ None }}{{ strftime_now('%Y') }}{{ raise_exception('') }}",
      [],
    ],
    ["none in comments", "{# {{ a }} #}{{ b }}{% generation %}{{ c }}{% endgeneration %}", ["b", "c"]],
  ])("are %s", (_, text, names) => {
    expect(variablesIn(text)).toEqual(names);
  });

  test("are found behind a megabyte of white space", () => {
    expect(variablesIn(`${" ".repeat(MEGABYTE)}{{ a }}${"\n".repeat(MEGABYTE)}`)).toEqual(["a"]);
  });
});

describe("a template that is none", () => {
  test.each<[string, string, string]>([
    ["an open expression", "a\n b {{ c", "2, column 4: the tag that opens here is never closed"],
    ["one that ends in a sign", "a\n{{ c |\n", "2, column 1: the tag that opens here is never closed"],
    ["a half closed one", "{{ a } b }}", '1, column 6: unexpected "}"'],
    ["an open comment", "\n\n{# a", "3, column 1: the comment that opens here is never closed"],
    [
      "an open block",
      "{% if a %}\n {% for b in c %}x",
      '2, column 2: the block "for" is never closed with "endfor"',
    ],
    [
      "an open set",
      "{% set a = 1 %}{% set b %}",
      '1, column 16: the block "set" is never closed with "endset"',
    ],
    ["an unknown statement", "a\n{%- foo bar %}", '2, column 5: unknown statement "foo"'],
    ["a stray end", "a\nb {% endif %}", '2, column 6: "endif" closes no open block'],
    [
      "a wrong end",
      "{% for a in b %}\n{% endif %}",
      '2, column 4: "endif" where the block "for" of line 1 is still open',
    ],
    ["a wrong expression", "{{ a }}\n{{ a b }}", '2, column 6: unexpected "b"'],
    [
      "a wrong expression behind escapes",
      String.raw`{{ '\u00e9\x4a\n' }}{{ "\u00e9\x4a\n" }}{{ a b }}`,
      '1, column 46: unexpected "b"',
    ],
    ["an empty expression", "{{ }}", '1, column 4: unexpected "}}"'],
    ["an open list", "{{ [a }}", '1, column 7: unexpected "}}"'],
    ["an open string", "{{ a }}\n{{ 'b }}", "2, column 4: the string that opens here is never closed"],
    ["an unknown escape", "{{ 'a\\q' }}", "1, column 6: unknown escape sequence"],
    ["an unknown character", "{{ a ^ b }}", '1, column 6: unexpected character "^"'],
    ["an unknown wide character", "{{ a 😀 }}", '1, column 6: unexpected character "😀"'],
    [
      "a wrong loop variable",
      "{% for 1 in a %}{% endfor %}",
      "1, column 8: expected identifier/tuple for the loop variable",
    ],
    ["a wrong filter", "{{ a | 'secret' }}", "1, column 8: expected identifier for the filter"],
    ["a string out of place", "{{ a 'secret' }}", "1, column 6: unexpected string"],
    [
      "wrong arguments",
      "{{ a(b=1, 2) }}",
      "1, column 12: positional arguments must come before keyword arguments",
    ],
    ["behind CRLF", "a\r\nb\r\n{{ c d }}", '3, column 6: unexpected "d"'],
    ["behind tabs", "\t\t{{ c d }}", '1, column 8: unexpected "d"'],
    ["behind emoji", "😀é {{ c d }}", '1, column 9: unexpected "d"'],
    [
      "behind stripped blocks",
      "  {% if a -%} \n\n  {% endif %}\n\n {{ c d }}\n",
      '5, column 7: unexpected "d"',
    ],
    [
      "behind what was cut away",
      `${" ".repeat(500)}{% generation %}\n{{ {'a': {'b': -1.5}} }}{{ c d }}`,
      '2, column 30: unexpected "d"',
    ],
    [
      "lines after the open tag",
      "{{ a\nb {{ c }}",
      '2, column 1: unexpected "b" (is the tag that opens in line 1 closed?)',
    ],
  ])("is refused with line and column: %s", (_, text, message) => {
    expect(refusal(text)).toBe(` at line ${message}.`);
  });

  test.each([
    ["expression", `{{ ${"(".repeat(100_000)}`],
    ["sum", `{{ ${"a + ".repeat(100_000)} a }}`],
    ["block", "{% if a %}".repeat(50_000)],
  ])("is refused when it is a %s nested too deeply", (_, text) => {
    expect(refusal(text)).toBe(": it is nested too deeply.");
  });

  test("is what the clients' library refuses, and nothing else, always with a place", () => {
    const words = [
      ..."{}%#-+ \n\t.|()[]:,=!^\\'\"5a",
      "{{",
      "}}",
      "{%",
      "%}",
      "{#",
      "#}",
      "{%- ",
      " -}}",
      "if ",
      "for a in b",
    ];
    words.push(
      "endif",
      "endfor",
      "set ",
      "{{ a }}",
      "{% if a %}",
      "{% endif %}",
      "'s'",
      "1.5",
      "😀",
      "not ",
      "is ",
      "\r\n",
    );
    const next = randomNumbers(1);
    for (let i = 0; i < 30_000; i++) {
      const text = Array.from({ length: 1 + next(12) }, () => words[next(words.length)]).join("");
      if (isTemplate(text)) expect(variablesIn(text), text).toBeInstanceOf(Array);
      else expect(refusal(text), text).toMatch(/^ at line \d+, column \d+: ./);
    }
  });
});

function isTemplate(text: string): boolean {
  try {
    return Boolean(new Template(text));
  } catch {
    return false;
  }
}

describe("the variables of a version", () => {
  const given = (...labels: string[]) => labels.map((label) => ({ label, type: "number", description: "d" }));
  const added = (...labels: string[]) =>
    labels.map((label) => ({ label, type: "string", description: null }));
  const unused = "The following variables are declared but not used:";
  const undeclared = "The following variables are used but were not declared:";

  test.each<[string, string[], string[] | null, string[], string | null]>([
    ["come from the template where none are given", ["b", "a"], null, ["b", "a"], null],
    ["come from the template where an empty list is given", ["a"], [], ["a"], null],
    ["are the given ones where they fit", ["a", "b"], ["b", "a"], [], null],
    ["stay when they are not used", [], ["a", "b"], [], `${unused} a, b.`],
    ["grow by those not declared", ["c", "a"], ["a"], ["c"], `${undeclared} c.`],
    ["are warned of both ways", ["c"], ["a"], ["c"], `${unused} a. ${undeclared} c.`],
  ])("%s", (_, found, labels, more, warning) => {
    const variables = [...given(...(labels ?? [])), ...added(...more)];
    expect(mergeVariables(found, labels && given(...labels))).toMatchObject({ variables });
    const { warnings } = mergeVariables(found, labels && given(...labels));
    expect(warningText(warnings)).toBe(warning);
  });

  test.each<[string[], Record<string, string>, string | null]>([
    [["a"], { a: "" }, null],
    [["a", "b"], {}, "No value was given for: a, b."],
    [[], { a: "1", b: "2" }, "The template does not use: a, b."],
    [["toString"], { a: "1" }, "No value was given for: toString. The template does not use: a."],
    [Array(20).fill("v"), {}, `No value was given for: ${Array(20).fill("v").join(", ")}.`],
    [
      Array.from({ length: 22 }, () => "v"),
      {},
      `No value was given for: ${Array(20).fill("v").join(", ")} and 2 more.`,
    ],
  ])("%j against the values %j: %s", (found, values, warning) => {
    expect(warningText(compareVariables(found, values))).toBe(warning);
  });
});

test("a template is refused when its variables take more than 128 MB to find", { tags: "slow" }, async () => {
  const text = "{{ a }}".repeat(1_400_000);
  await expect(findVariables("ours", [{ path: "text", text }])).rejects.toThrow(
    "text takes more than 5 seconds or 128 MB to read",
  );
});

describe("rendering", () => {
  test.each([
    "Hello {{ name }}!\n",
    "  {% if name %}\n    {{ name | upper }}\n  {% endif %}\n\n{{ missing }}.",
    "{% for i in range(3) %}{{ loop.index }}{{ name[i] }}{% endfor %}",
    "{% macro m(a) %}<{{ a }}>{% endmacro %}{{ m(name) }}{{ name | tojson }}{{ {'a': [name]} | tojson(indent=2) }}",
    "{% set ns = namespace(x=1) %}{% for c in [1, 2] %}{% set ns.x = ns.x + c %}{% endfor %}{{ ns.x }}\r\n",
  ])("gives what the clients give: %j", async (text) => {
    const values = { name: "Ada 😀 \ud800 <b>", __proto__x: "y" };
    expect(await rendered(text, values)).toBe(new Template(text).render(values));
  });

  const doubled = (start: string, step: string, times: number) =>
    `{% set s = ${start} %}${step.repeat(times)}`;
  const tooMuch = "text takes more than a second or 128 MB to render";
  test.each<[string, string, string]>([
    ["a list of a thousand million", "{% for i in range(1000000000) %}{% endfor %}", tooMuch],
    ["loops without an end", FOR_EVER, tooMuch],
    ["a list doubled 34 times", `${doubled("[1, 2]", "{% set s = s + s %}", 34)}{{ s | length }}`, tooMuch],
    ["a text doubled 26 times", `${doubled("'ab'", "{% set s = s ~ s %}", 26)}{{ s | upper }}`, tooMuch],
    [
      "a text doubled 40 times",
      doubled("'ab'", "{% set s = s ~ s %}", 40),
      "it makes more than fits into memory",
    ],
    [
      "a search that no timer in its process can stop",
      `${doubled("'aaaa'", "{% set s = s ~ s %}", 20)}{% set n = s[:1000000] ~ 'b' ~ s[:1000000] %}{{ n in s }}`,
      tooMuch,
    ],
    [
      "a long answer",
      `{% for i in range(120) %}${"x".repeat(100_000)}{% endfor %}`,
      "must not give more than 10000000 characters",
    ],
  ])("ends with an answer and harms no other: %s", async (_, text, message) => {
    const greedy = expect(rendered(text, {})).rejects.toThrow(message);
    const modest = expect(rendered("Hello {{ name }}", { name: "Ada" })).resolves.toBe("Hello Ada");
    await Promise.all([greedy, modest]);
  });

  test("is refused as UNAVAILABLE when others keep it busy for seconds", { tags: "slow" }, async () => {
    const greedy = Promise.allSettled(Array.from({ length: 7 }, () => rendered(FOR_EVER, {})));
    const modest = rendered("Hello", {});
    await expect(modest).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await greedy;
    expect(await rendered("Hello", {})).toBe("Hello");
  });

  test("ends in its process also when the server is gone", async () => {
    const child = fork(fileURLToPath(new URL("../../src/templates/process.ts", import.meta.url)), {
      execArgv: [],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    await once(child, "message");
    child.send({ text: FOR_EVER, values: {} }, () => child.disconnect());
    await once(child, "exit");
  });

  test.each<[string, string, Record<string, string>]>([
    ["text could not be rendered: Unknown StringValue filter: nope", "{{ a | nope }}", { a: "" }],
    ["text could not be rendered: not for you", "{{ raise_exception('not\n for you.') }}", {}],
    ["text could not be rendered: a statement stands where it cannot", "{% break %}", {}],
    [
      "text is not a valid template at line 2, column 1: the tag that opens here is never closed",
      "a\n{{",
      {},
    ],
    ['variables must not hold "range": templates have that built in', "a", { range: "1" }],
  ])("the message says what is wrong: %s", async (message, text, values) => {
    const refused = { code: "BAD_INPUT", message: `Invalid input: ${message}.` };
    await expect(rendered(text, values)).rejects.toMatchObject(refused);
  });

  test("the message has at most a line of what a template raises", async () => {
    const refused = rendered("{{ raise_exception(a) }}", { a: "secret ".repeat(1000) });
    await expect(refused).rejects.toThrow(/rendered: (?:secret ){28}secr….$/);
  });
});

describe("the difference of two versions", () => {
  const model: Model = {
    provider: "openai",
    client: null,
    model: "gpt-4o",
    version: null,
    parameters: { b: 1, a: { d: 2, c: 3 } },
  };
  const from: VersionText = {
    version: "1.0.0",
    text: "a\nb\nc\nd\ne\nf\n",
    systemText: null,
    messages: null,
    model,
    variables: [],
  };
  const diff = (after: VersionText, before = from) => [...diffVersions(before, after)].join("");

  test.each<[string, Partial<VersionText>, string]>([
    ["nothing where all is equal", { version: "1.0.0" }, ""],
    [
      "nothing where only the order of keys differs",
      { model: { ...model, parameters: { a: { c: 3, d: 2 }, b: 1 } } },
      "",
    ],
    [
      "the changed lines with three around",
      { text: "a\nb\nc\nd\ne\nF\n" },
      "--- 1.0.0/text\n+++ 2.0.0/text\n@@ -3,4 +3,4 @@\n c\n d\n e\n-f\n+F\n",
    ],
    [
      "a last line without its end",
      { text: "a\nb\nc\nd\ne\nf" },
      "--- 1.0.0/text\n+++ 2.0.0/text\n@@ -3,4 +3,4 @@\n c\n d\n e\n-f\n+f\n\\ No newline at end of file\n",
    ],
    [
      "a part that was not there",
      { systemText: "be kind\n" },
      "--- /dev/null\n+++ 2.0.0/systemText\n@@ -0,0 +1,1 @@\n+be kind\n",
    ],
    [
      "the model, keys in order",
      { model: { ...model, model: "gpt-5" } },
      '--- 1.0.0/model\n+++ 2.0.0/model\n@@ -1,6 +1,6 @@\n {\n   "client": null,\n-  "model": "gpt-4o",\n+  "model": "gpt-5",\n   "parameters": {\n     "a": {\n       "c": 3,\n',
    ],
    [
      "the variables",
      { variables: [{ label: "x", type: "string", description: null }] },
      '--- 1.0.0/variables\n+++ 2.0.0/variables\n@@ -1,1 +1,7 @@\n-[]\n+[\n+  {\n+    "description": null,\n+    "label": "x",\n+    "type": "string"\n+  }\n+]\n',
    ],
  ])("is %s", (_, changed, expected) => {
    expect(diff({ ...from, version: "2.0.0", ...changed })).toBe(expected);
  });

  test("has content indented after each end of a line, whichever it is and wherever it is cut into pieces", () => {
    const content = `${"x".repeat(64 * 1024 - 2)}\na\r\nb\u2028c`;
    const messages = [{ role: "user", content }, { placeholder: "history" }];
    const added = diff({ ...from, version: "2.0.0", messages });
    expect(added.replace(/x+/, "x")).toBe(
      "--- /dev/null\n+++ 2.0.0/messages\n@@ -0,0 +1,5 @@\n+user:\n+  x\n+  a\r  \n+  b\u2028  c\n+[history]\n",
    );
  });

  test("is all parts that differ, one after the other", () => {
    const patches = parsePatch(diff({ ...from, version: "2.0.0", text: "x", systemText: "y", model: null }));
    expect(patches.map(({ oldFileName, newFileName }) => `${oldFileName} ${newFileName}`)).toEqual([
      "1.0.0/text 2.0.0/text",
      "/dev/null 2.0.0/systemText",
      "1.0.0/model /dev/null",
    ]);
  });

  const next = randomNumbers(2);
  const randomLines = (size: number) => {
    let lines = "";
    while (lines.length < size) lines += `${next(2 ** 32)}\n`;
    return lines;
  };
  const LONG_TEXT = Array.from({ length: 30_000 }, (_, at) => `line ${at}`);
  const equalLines = "a\n".repeat(40_000);
  const LONG_LINES = `${"x".repeat(5_000)}\n`.repeat(250);
  test.each([
    ["random lines", randomLines(MEGABYTE), `${randomLines(MEGABYTE)}end`],
    [
      "equal lines before random ones",
      equalLines + randomLines(MEGABYTE / 2),
      equalLines + randomLines(MEGABYTE / 2),
    ],
    [
      "many lines of which some changed",
      LONG_TEXT.join("\n"),
      LONG_TEXT.map((line, at) => (at % 500 === 0 ? "changed" : line)).join("\n"),
    ],
    ["empty lines without an end", "\n".repeat(99_000), `${"\n".repeat(99_000)}end`],
    ["a line without any end", "x".repeat(MEGABYTE), "\n".repeat(99_000)],
    ["few long lines of which two changed", `a\n${LONG_LINES}b\n`, `b\n${LONG_LINES}a\n`],
  ])("of megabytes of %s is coarse, but right", (_, before, after) => {
    const patch = diff({ ...from, version: "2.0.0", text: after }, { ...from, text: before });
    expect(parsePatch(patch)[0]!.hunks).toHaveLength(1);
    expect(applyPatch(before, patch) === after).toBe(true);
  });

  test("of more than 100,000 lines only says that they differ", () => {
    const text = "\n".repeat(100_000);
    expect(diff({ ...from, version: "2.0.0", text }, { ...from, text: "" })).toContain(
      "@@ -0,0 +1,100000 @@",
    );
    const message = diff({ ...from, version: "2.0.0", text: `${text}end` }, { ...from, text });
    expect(message).toBe("Files 1.0.0/text and 2.0.0/text differ\n");
  });
});

test.each([
  [
    "800 open blocks after half a megabyte of line breaks",
    `${"\n".repeat(490_000)}${"{%if a%}".repeat(800)}`,
  ],
  ["ten thousand macros", "{%macro a()%}{%endmacro%}".repeat(10_000)],
])("a template made to take long is judged at once: %s", (_, template) => {
  const begun = process.cpuUsage();
  try {
    variablesIn(template);
  } catch (error) {
    expect(error).toMatchObject({ code: "BAD_INPUT" });
  }
  // Far beyond what it takes (0.2 s), far below what the square of the size would take (over 10 s).
  expect(process.cpuUsage(begun).user).toBeLessThan(4_000_000);
});
